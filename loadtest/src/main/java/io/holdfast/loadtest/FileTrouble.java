package io.holdfast.loadtest;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Why a file cannot be read or written, in words: Java says it by the name of a class, or by that of the file alone.
 */
public final class FileTrouble {
    private FileTrouble() {}

    /** A clause, such as {@code permission is denied for /results}. */
    public static String why(IOException cause) {
        if (!(cause instanceof FileSystemException trouble)) {
            return Optional.ofNullable(cause.getMessage())
                    .filter(message -> !message.isBlank())
                    .orElseGet(() -> cause.getClass().getSimpleName().replace("Exception", ""));
        }
        String file = Optional.ofNullable(trouble.getFile()).orElse("it");
        return switch (trouble) {
            case AccessDeniedException denied -> "permission is denied for " + file;
            case NoSuchFileException missing -> "there is no " + missing(Path.of(file));
            case FileAlreadyExistsException exists -> file + " is there already, and is no folder";
            default -> Optional.ofNullable(trouble.getReason()).orElse("it is no such file") + " (" + file + ")";
        };
    }

    /** Names the folder that is missing, or else the file: a file that was to be written lacks its folder. */
    private static String missing(Path file) {
        return Optional.ofNullable(file.toAbsolutePath().getParent())
                .filter(folder -> !Files.isDirectory(folder))
                .map(folder -> "folder " + folder)
                .orElseGet(file::toString);
    }
}
