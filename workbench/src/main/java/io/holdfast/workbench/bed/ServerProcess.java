package io.holdfast.workbench.bed;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The process of a server on this machine, seen from outside by {@code /proc}: whatever this user may not look at is
 * absent.
 *
 * @param pid of the one that listens
 */
public record ServerProcess(long pid) {
    private static final Path PROC = Path.of("/proc");
    private static final Pattern SOCKET = Pattern.compile("socket:\\[([0-9]+)]");
    private static final Pattern PACKAGE = Pattern.compile("([A-Za-z0-9_.]+?)-([0-9][^-]*)\\.dist-info");
    private static final String LISTENING = "0A";
    private static final int TICKS_A_SECOND = 100;
    private static final int BYTES_OF_A_PAGE = 4096;

    /** Variables of a server that change what is measured; nothing else of its environment is looked at. */
    static final List<String> VARIABLES = List.of(
            "ENABLE_KVCACHED",
            "KVCACHED_AUTOPATCH",
            "KVCACHED_IPC_NAME",
            "KVCACHED_LOG_LEVEL",
            "PYTHONHASHSEED",
            "CUDA_LAUNCH_BLOCKING",
            "CUDA_VISIBLE_DEVICES");

    /** Packages whose versions belong to what a number was measured with. */
    static final List<String> PACKAGES = List.of("torch", "kvcached", "vllm", "sglang", "flashinfer_python", "triton");

    /** Finds the process of a server on this machine; absent where it is on another one. */
    public static Optional<ServerProcess> of(URI server) {
        String host = String.valueOf(server.getHost());
        boolean here = host.startsWith("127.") || host.equals("localhost") || host.equals("[::1]");
        int port = server.getPort() > 0 ? server.getPort() : "https".equals(server.getScheme()) ? 443 : 80;
        return here ? listeningAt(port) : Optional.empty();
    }

    /** The one that listens at a port of this machine; absent where this user cannot see it. */
    static Optional<ServerProcess> listeningAt(int port) {
        Set<String> sockets = new HashSet<>();
        String suffix = String.format(Locale.ROOT, ":%04X", port);
        for (String table : List.of("tcp", "tcp6")) {
            for (String line : lines(PROC.resolve("net").resolve(table))) {
                String[] fields = line.strip().split("\\s+", -1);
                if (fields.length > 9 && fields[1].endsWith(suffix) && fields[3].equals(LISTENING)) {
                    sockets.add(fields[9]);
                }
            }
        }
        return sockets.isEmpty()
                ? Optional.empty()
                : ProcessHandle.allProcesses()
                        .map(ProcessHandle::pid)
                        .filter(pid -> hasOneOf(pid, sockets))
                        .sorted()
                        .map(ServerProcess::new)
                        .findFirst();
    }

    private static boolean hasOneOf(long pid, Set<String> sockets) {
        try (Stream<Path> files = Files.list(PROC.resolve(pid + "/fd"))) {
            return files.anyMatch(file -> {
                try {
                    Matcher socket = SOCKET.matcher(Files.readSymbolicLink(file).toString());
                    return socket.matches() && sockets.contains(socket.group(1));
                } catch (IOException e) {
                    return false;
                }
            });
        } catch (IOException e) {
            return false;
        }
    }

    /** Returns the process and all that it started. */
    Set<Long> family() {
        Set<Long> family = new LinkedHashSet<>(List.of(pid));
        ProcessHandle.of(pid).ifPresent(handle -> handle.descendants().forEach(child -> family.add(child.pid())));
        return family;
    }

    /**
     * Returns those of {@link #VARIABLES} that it has; absent where they may not be read. An inference server's workers
     * have the environment of the process that listens.
     */
    Optional<Map<String, String>> variables() {
        try {
            Map<String, String> found = new TreeMap<>();
            String all = Files.readString(PROC.resolve(pid + "/environ"), StandardCharsets.ISO_8859_1);
            for (String each : all.split("\0", -1)) {
                int equals = each.indexOf('=');
                if (equals > 0 && VARIABLES.contains(each.substring(0, equals))) {
                    found.put(each.substring(0, equals), each.substring(equals + 1));
                }
            }
            return Optional.of(found);
        } catch (IOException e) {
            return Optional.empty();
        }
    }

    /** The versions of {@link #PACKAGES} beside the Python that runs it, by the names of their folders. */
    Map<String, String> packages() {
        Map<String, String> found = new TreeMap<>();
        for (Path place : pythonFolders()) {
            try (Stream<Path> folders = Files.list(place)) {
                folders.map(folder -> PACKAGE.matcher(String.valueOf(folder.getFileName())))
                        .filter(Matcher::matches)
                        .filter(name -> PACKAGES.contains(name.group(1).toLowerCase(Locale.ROOT)))
                        .forEach(name -> found.putIfAbsent(name.group(1).toLowerCase(Locale.ROOT), name.group(2)));
            } catch (IOException e) {
                // Another place may tell.
            }
        }
        return found;
    }

    private List<Path> pythonFolders() {
        List<Path> places = new ArrayList<>();
        try {
            String command = Files.readString(PROC.resolve(pid + "/cmdline"), StandardCharsets.UTF_8);
            Path program = Path.of(command.split("\0", 2)[0]);
            Path home = Optional.ofNullable(program.getParent())
                    .map(Path::getParent)
                    .orElse(PROC.resolve(pid + "/none"));
            try (Stream<Path> pythons = Files.list(home.resolve("lib"))) {
                pythons.filter(folder -> String.valueOf(folder.getFileName()).startsWith("python"))
                        .flatMap(folder ->
                                Stream.of("site-packages", "dist-packages").map(folder::resolve))
                        .filter(Files::isDirectory)
                        .forEach(places::add);
            }
        } catch (IOException e) {
            // It is over, or somebody else's.
        }
        return places;
    }

    /** The CPU time that it and all that it started have had, in seconds; absent where nothing of it is left. */
    Optional<Double> cpuSeconds() {
        return sumOf("stat", line -> {
            // The name of a program, in brackets, may have spaces.
            String[] fields = line.substring(line.lastIndexOf(')') + 2).split(" ", -1);
            return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / (double) TICKS_A_SECOND;
        });
    }

    /** The memory of them in MiB; what they share counts for each. */
    Optional<Double> residentMebibytes() {
        return sumOf("statm", line -> Long.parseLong(line.split(" ", 3)[1]) * (double) BYTES_OF_A_PAGE / (1 << 20));
    }

    private interface Reading {
        double of(String line);
    }

    private Optional<Double> sumOf(String file, Reading reading) {
        double sum = 0;
        boolean any = false;
        for (long member : family()) {
            List<String> told = lines(PROC.resolve(member + "/" + file));
            if (!told.isEmpty()) {
                sum += reading.of(told.getFirst());
                any = true;
            }
        }
        return any ? Optional.of(sum) : Optional.empty();
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return List.of();
        }
    }
}
