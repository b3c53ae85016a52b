package io.holdfast.loadtest.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.extension.AnnotatedElementContext;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.io.TempDirFactory;

/**
 * A folder in memory, where the system has such folders. A journal is forced to its disk with every line, and a thousand
 * experiments in virtual time would wait for nothing else.
 */
public final class MemoryFolder implements TempDirFactory {
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    @Override
    public Path createTempDirectory(AnnotatedElementContext element, ExtensionContext extension) throws IOException {
        return Files.isDirectory(SHARED_MEMORY) && Files.isWritable(SHARED_MEMORY)
                ? Files.createTempDirectory(SHARED_MEMORY, "holdfast")
                : Files.createTempDirectory("holdfast");
    }
}
