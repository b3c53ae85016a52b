package io.holdfast.workbench.bed;

import io.holdfast.core.look.Finding;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentReading;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The shared memory of this machine and the kvcached segments in it, whatever they are called. They are looked at
 * before and after a request: one that was written meanwhile is a living engine's, and of the others nobody can tell
 * from here, since no engine keeps its file open and an idle one writes nothing. None is ever made or removed.
 */
final class SharedMemory {
    private static final long LITTLE = 1L << 30;

    private final Path folder;
    private final Map<Path, Long> before = new HashMap<>();

    SharedMemory(Path folder) {
        this.folder = folder;
        SegmentReader.find(folder).forEach(file -> before.put(file, SegmentReader.lastWrittenNanos(file)));
    }

    Finding mount() {
        if (!Files.isDirectory(folder)) {
            return Finding.missing(
                    "shared memory",
                    "There is no " + folder + ", which engines with several processes need.",
                    "mount a tmpfs at " + folder + "; in a container --shm-size 8g, or --ipc host");
        }
        try {
            FileStore store = Files.getFileStore(folder);
            long free = store.getUsableSpace();
            String sizes = String.format(
                    Locale.ROOT, "%s: %s of %s free", folder, gibibytes(free), gibibytes(store.getTotalSpace()));
            if (!Files.isWritable(folder)) {
                return Finding.warning(
                        "shared memory", sizes + ", and this user may not write to it.", "run as the engine's user");
            }
            return free < LITTLE
                    ? Finding.warning(
                            "shared memory",
                            sizes + ", which is little for an engine.",
                            "free some, or in a container --shm-size 8g")
                    : Finding.ok("shared memory", sizes + ", writable");
        } catch (IOException e) {
            return Finding.unknown(
                    "shared memory",
                    folder + " does not tell its size: " + e.getMessage() + ".",
                    "look at it by df -h");
        }
    }

    private static String gibibytes(long bytes) {
        return String.format(Locale.ROOT, "%.1f GiB", bytes / (double) LITTLE);
    }

    /**
     * Checks kvcached's segments once a request was served.
     *
     * @param variables of the server's process that are known
     */
    List<Finding> segments(Map<String, String> variables) {
        List<Path> written = new ArrayList<>();
        List<Path> silent = new ArrayList<>();
        for (Path file : SegmentReader.find(folder)) {
            boolean moved = !Long.valueOf(SegmentReader.lastWrittenNanos(file)).equals(before.get(file));
            (moved ? written : silent).add(file);
        }
        List<Finding> findings = new ArrayList<>();
        boolean wanted = isOn(variables.getOrDefault("ENABLE_KVCACHED", ""));
        written.forEach(file -> findings.add(Finding.ok("kvcached", sizes(file) + "; written while a request ran")));
        if (written.isEmpty() && silent.isEmpty()) {
            findings.add(
                    wanted
                            ? Finding.warning(
                                    "kvcached",
                                    "ENABLE_KVCACHED is set for the server, and there is no segment in " + folder
                                            + ": nothing was patched.",
                                    isOn(variables.getOrDefault("KVCACHED_AUTOPATCH", ""))
                                            ? "look into the server's log for the line of the patch"
                                            : "KVCACHED_AUTOPATCH=1 beside ENABLE_KVCACHED=true")
                            : Finding.note("kvcached", "not seen: no segment in " + folder + ", and none requested"));
        }
        silent.forEach(file -> findings.add(stale(file)));
        return findings;
    }

    private static Finding stale(Path file) {
        return Finding.warning(
                "segment",
                sizes(file) + "; nobody wrote to it while a request ran, so it may be one that an engine left behind.",
                "where no engine of that name runs: kvctl delete " + file.getFileName()
                        + " (with an engine that lives it would break that one)");
    }

    private static boolean isOn(String value) {
        return switch (value.toLowerCase(Locale.ROOT)) {
            case "1", "true", "yes", "on" -> true;
            default -> false;
        };
    }

    private static String sizes(Path file) {
        return SegmentReader.read(file) instanceof SegmentReading.Segment found
                ? String.format(
                        Locale.ROOT,
                        "%s: limit %,d MiB, %,d MiB used, %,d MiB mapped in advance",
                        file,
                        found.limitBytes() >> 20,
                        found.usedBytes() >> 20,
                        found.preallocatedBytes() >> 20)
                : file.toString();
    }
}
