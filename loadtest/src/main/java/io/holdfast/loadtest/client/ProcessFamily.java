package io.holdfast.loadtest.client;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/*
 * Whether any of it runs
 * ----------------------
 * A process that has ended stays listed until its parent asks after it; one whose parent ended first waits for the
 * first process of the machine to do so. In a container that process is often a program that never asks, and such a
 * process then stays for ever. It holds no memory and no port, so it does not count. Only /proc tells it apart: to a
 * signal, and to ProcessHandle, it is alive.
 */

/** A process and all that it started, which can be told to end. */
final class ProcessFamily {
    private static final Path PROC = Path.of("/proc");
    private static final List<Path> SETSID = List.of(Path.of("/usr/bin/setsid"), Path.of("/bin/setsid"));
    /* Of a line of stat behind the program's name. */
    private static final int STATE = 0;
    private static final int GROUP = 2;

    private final Process first;
    private final boolean group = setsid().isPresent();
    private final List<ProcessHandle> known;

    /** Creates the family of a process that leads a group of its own by {@link #setsid}, where the system has it. */
    ProcessFamily(Process first) {
        this.first = first;
        this.known = new ArrayList<>(first.descendants().toList());
        known.add(first.toHandle());
    }

    /** The program that begins a group of processes. */
    static Optional<Path> setsid() {
        return SETSID.stream().filter(Files::isExecutable).findFirst();
    }

    void tell(String signal) {
        // A group is there only once the process has made itself one.
        if (!group || !kill(signal)) {
            known.forEach(signal.equals("KILL") ? ProcessHandle::destroyForcibly : ProcessHandle::destroy);
        }
    }

    boolean isAlive() {
        return known.stream().anyMatch(ProcessFamily::runs)
                || (group && (Files.isDirectory(PROC) ? anyRuns(PROC, first.pid()) : kill("0")));
    }

    private static boolean runs(ProcessHandle process) {
        return process.isAlive()
                && stat(PROC.resolve(Long.toString(process.pid())))
                        .filter(ProcessFamily::isOver)
                        .isEmpty();
    }

    /** Returns true if a process of this group runs. */
    static boolean anyRuns(Path proc, long group) {
        try (Stream<Path> all = Files.list(proc)) {
            return all.flatMap(each -> stat(each).stream())
                    .anyMatch(fields -> fields[GROUP].equals(Long.toString(group)) && !isOver(fields));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isOver(String[] fields) {
        return fields[STATE].equals("Z") || fields[STATE].equals("X");
    }

    /**
     * Returns the fields behind a process's name, which may have spaces and brackets; absent where the process is gone.
     */
    private static Optional<String[]> stat(Path process) {
        if (!Character.isDigit(String.valueOf(process.getFileName()).charAt(0))) {
            return Optional.empty();
        }
        try {
            String line = Files.readString(process.resolve("stat"), StandardCharsets.ISO_8859_1);
            String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ", -1);
            return Optional.of(fields).filter(all -> all.length > GROUP);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** Sends a signal and returns true if a process was there to take it; signal 0 only asks. */
    private boolean kill(String signal) {
        try {
            Process asked = new ProcessBuilder("kill", "-s", signal, "--", "-" + first.pid())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return asked.onExit().join().exitValue() == 0;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
