package io.holdfast.sidecar.store;

import io.holdfast.core.pin.EngineIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Optional;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets one sidecar of this machine pin at an engine: two that fill it at the same moment see each other's pins too late, and
 * together they can stop it. Unpins need no lock.
 *
 * <p>It is taken with the first pin, whatever the state directory and the spelling of the URL, and the operating system drops
 * it when the process dies; then another sidecar, which followed all the while, pins in its place.
 */
public final class EngineLock implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineLock.class);

    private static final long AGAIN_NANOS = 1_000_000_000L;
    private static final String ANOTHER =
            "another sidecar of this machine holds prefixes at this engine, and two could stop"
                    + " it together: this one follows, and holds when that one has ended";

    private final LongSupplier clock;
    private final Path directory;
    private final Supplier<Optional<EngineIdentity>> engine;
    private Optional<Held> held = Optional.empty();
    private boolean unlockable;
    private volatile Optional<Refused> refused = Optional.empty();

    private record Refused(String why, long atNanos) {}

    /** @param key by what the file system knows the locked file, whatever has its name by now */
    private record Held(Path file, FileChannel channel, Optional<Object> key) {
        boolean isThere() {
            try {
                return key.equals(keyOf(file));
            } catch (IOException e) {
                return false;
            }
        }
    }

    /** @param engine which one it is; absent while that is not known, and then nothing is pinned either */
    public EngineLock(Path directory, Supplier<Optional<EngineIdentity>> engine, LongSupplier clock) {
        this.directory = directory;
        this.engine = engine;
        this.clock = clock;
    }

    /** Why this process was not let pin a moment ago, so that it need not try each time; never waits. */
    public Optional<String> refusedLately() {
        return refused.filter(last -> clock.getAsLong() - last.atNanos() < AGAIN_NANOS)
                .map(Refused::why);
    }

    /** Why this process may not pin now; absent when it may, which then stays so. */
    public synchronized Optional<String> refusal() {
        Optional<EngineIdentity> here = engine.get();
        if (unlockable || here.isEmpty()) {
            return Optional.empty();
        }
        // The name of an engine may lead to another machine one day, where another sidecar may hold.
        Path file = file(here.get());
        if (held.filter(last -> last.file.equals(file) && last.isThere()).isPresent()) {
            return Optional.empty();
        }
        try {
            if (held.filter(last -> last.file.equals(file)).isPresent()) {
                LOG.warn(
                        "The lock {} was removed or replaced, as by what clears old files away; it is taken anew",
                        file);
            }
            close();
            held = taken(file);
        } catch (IOException e) {
            // Somebody else's file on a machine of many users: what cannot be known must not stop a lone sidecar.
            unlockable = true;
            LOG.warn(
                    "Whether another sidecar of this machine pins at this engine is not known, since the lock {}"
                            + " cannot be opened: {}",
                    file,
                    e.toString());
            return Optional.empty();
        }
        refused = held.isPresent() ? Optional.empty() : Optional.of(new Refused(ANOTHER, clock.getAsLong()));
        return refused.map(Refused::why);
    }

    private Path file(EngineIdentity identity) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(identity.resolved().getBytes(StandardCharsets.UTF_8));
            return directory.resolve("holdfast-engine-"
                    + HexFormat.of().toHexDigits(ByteBuffer.wrap(digest).getLong()) + ".lock");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Optional<Object> keyOf(Path file) throws IOException {
        return Optional.ofNullable(Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey());
    }

    private static Optional<Held> taken(Path file) throws IOException {
        boolean fresh = !Files.exists(file, LinkOption.NOFOLLOW_LINKS);
        FileChannel opened =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        if (fresh && file.getFileSystem().supportedFileAttributeViews().contains("posix")) {
            // Sidecars of other users have to be able to see it, too.
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        }
        try {
            if (opened.tryLock() != null) {
                return Optional.of(new Held(file, opened, keyOf(file)));
            }
        } catch (OverlappingFileLockException e) {
            // Another sidecar of this process has it.
        }
        opened.close();
        return Optional.empty();
    }

    @Override
    public synchronized void close() throws IOException {
        if (held.isPresent()) {
            held.get().channel.close();
            held = Optional.empty();
        }
    }
}
