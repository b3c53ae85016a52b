package io.holdfast.sidecar.store;

import io.holdfast.embed.ledger.LedgerFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Set;

/** Replaces a file as a whole, so that a crash at any moment leaves what was there before or all of the new. */
public final class WholeFile {
    private static final Set<PosixFilePermission> OWNER = PosixFilePermissions.fromString("rw-------");

    private WholeFile() {}

    /** When this returns, the new content is on the disk, in a file that only its owner reads. */
    static void replace(Path file, byte[] content, LedgerFiles files) throws IOException {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        try {
            makeForOwner(next);
            try (FileChannel channel =
                    files.open(next, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
                ByteBuffer bytes = ByteBuffer.wrap(content);
                for (long at = 0; bytes.hasRemaining(); ) {
                    at += channel.write(bytes, at);
                }
                channel.force(true);
            }
        } catch (IOException e) {
            deleteIfPossible(next);
            throw e;
        }
        moveDurably(next, file, files);
    }

    /** Moves a file within its directory, and forces that to the disk. */
    static void moveDurably(Path from, Path to, LedgerFiles files) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Path directory = to.toAbsolutePath().getParent();
        if (directory != null) {
            try (FileChannel moved = files.open(directory, StandardOpenOption.READ)) {
                moved.force(true);
            }
        }
    }

    /** An empty file, or the one that is there, that nobody else may read. */
    public static void makeForOwner(Path path) throws IOException {
        boolean posix = path.getFileSystem().supportedFileAttributeViews().contains("posix");
        try {
            if (posix) {
                Files.createFile(path, PosixFilePermissions.asFileAttribute(OWNER));
            } else {
                Files.createFile(path);
            }
        } catch (FileAlreadyExistsException e) {
            if (posix) {
                Files.setPosixFilePermissions(path, OWNER);
            }
        }
    }

    /** On a full disk the half that was written would take the room that others need. */
    private static void deleteIfPossible(Path next) {
        try {
            Files.deleteIfExists(next);
        } catch (IOException e) {
            // Nor can it be written over then: the next attempt says so.
        }
    }
}
