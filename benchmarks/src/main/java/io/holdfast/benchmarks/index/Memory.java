package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.OptionalLong;

/** Memory that this process keeps. */
final class Memory {
    private static final int COLLECTIONS = 3;
    private static final Path STATUS = Path.of("/proc/self/status");

    private Memory() {}

    /** Bytes of the heap that are still in use after full collections. */
    static long heap() {
        for (int i = 0; i < COLLECTIONS; i++) {
            System.gc();
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    /** Bytes that the process has in memory, where the system says so. */
    static OptionalLong resident() {
        try {
            return Files.readAllLines(STATUS).stream()
                    .filter(line -> line.startsWith("VmRSS:"))
                    .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                    .findFirst();
        } catch (IOException e) {
            return OptionalLong.empty();
        }
    }
}
