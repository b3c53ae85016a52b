package io.holdfast.workbench.bed;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Environment of a number, by name: machine, GPUs, versions, and the variables of the server's process that change what
 * is measured. A value that nobody could tell is written as {@code unknown} and never left out; a value known to be
 * absent is {@code none}.
 */
public record EnvironmentRecord(Map<String, String> values) {
    /** Value where nobody could tell. */
    public static final String UNKNOWN = "unknown";

    private static final String NONE = "none";
    private static final List<String> OF_GPUS = List.of("gpu", "driver", "gpuDetails", "cuda", "gpuLinks");
    private static final Path CPU = Path.of("/proc/cpuinfo");
    private static final Path MEMORY = Path.of("/proc/meminfo");

    public EnvironmentRecord {
        values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
    }

    /**
     * That of this machine.
     *
     * @param server where the server listens; its process is looked at where it is on this machine
     */
    public static EnvironmentRecord of(MachineTools tools, URI server) {
        return of(Gpus.of(tools), ServerProcess.of(server));
    }

    static EnvironmentRecord of(Gpus gpus, Optional<ServerProcess> process) {
        Map<String, String> values = new LinkedHashMap<>();
        values.put("java", Runtime.version().toString());
        values.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        values.put("processor", line(CPU, "model name"));
        values.put("cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
        values.put("memory", line(MEMORY, "MemTotal"));
        gpus(gpus, values);
        Map<String, String> packages = process.map(ServerProcess::packages).orElse(Map.of());
        for (String name : ServerProcess.PACKAGES) {
            values.put(name, packages.getOrDefault(name, UNKNOWN));
        }
        Optional<Map<String, String>> variables = process.flatMap(ServerProcess::variables);
        for (String name : ServerProcess.VARIABLES) {
            values.put(name, variables.map(of -> of.getOrDefault(name, NONE)).orElse(UNKNOWN));
        }
        return new EnvironmentRecord(values);
    }

    private static void gpus(Gpus gpus, Map<String, String> values) {
        switch (gpus) {
            case Gpus.Present present -> {
                values.put("gpu", gpuNames(present));
                values.put(
                        "driver",
                        present.gpus().stream().map(Gpus.Gpu::driver).distinct().collect(Collectors.joining(", ")));
                values.put("gpuDetails", distinct(present, Gpus.Gpu::text));
                values.put("cuda", distinct(present, Gpus.Gpu::cuda));
                values.put("gpuLinks", present.links().map(Gpus.Links::text).orElse(UNKNOWN));
            }
            // A server elsewhere may have one all the same.
            case Gpus.None none -> OF_GPUS.forEach(name -> values.put(name, UNKNOWN));
            case Gpus.Unknown unknown -> OF_GPUS.forEach(name -> values.put(name, UNKNOWN));
        }
    }

    private static String distinct(Gpus.Present present, Function<Gpus.Gpu, String> what) {
        String all = present.gpus().stream()
                .map(what)
                .filter(text -> !text.isEmpty())
                .distinct()
                .collect(Collectors.joining("; "));
        return all.isEmpty() ? UNKNOWN : all;
    }

    /** Returns names such as {@code 2 x NVIDIA A100-SXM4-80GB}. */
    static String gpuNames(Gpus.Present present) {
        Map<String, Long> counts = present.gpus().stream()
                .collect(Collectors.groupingBy(Gpus.Gpu::name, LinkedHashMap::new, Collectors.counting()));
        return counts.isEmpty()
                ? NONE
                : counts.entrySet().stream()
                        .map(each -> each.getValue() + " x " + each.getKey())
                        .collect(Collectors.joining(", "));
    }

    /** The value of the first line of that name. */
    private static String line(Path file, String name) {
        try {
            return Files.readAllLines(file, StandardCharsets.ISO_8859_1).stream()
                    .filter(line -> line.startsWith(name))
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .findFirst()
                    .orElse(UNKNOWN);
        } catch (IOException e) {
            return UNKNOWN;
        }
    }

    /** Returns the record with one more value, {@link #UNKNOWN} where it is absent or blank. */
    public EnvironmentRecord with(String name, Optional<String> value) {
        Map<String, String> more = new LinkedHashMap<>(values);
        more.put(name, value.filter(text -> !text.isBlank()).orElse(UNKNOWN));
        return new EnvironmentRecord(more);
    }

    /** The names of what nobody could tell. */
    public List<String> unknown() {
        return values.entrySet().stream()
                .filter(each -> each.getValue().equals(UNKNOWN))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** A line for each, in columns. */
    public List<String> lines() {
        int width = values.keySet().stream().mapToInt(String::length).max().orElse(0);
        return values.entrySet().stream()
                .map(each -> String.format(Locale.ROOT, "%-" + width + "s  %s", each.getKey(), each.getValue()))
                .toList();
    }
}
