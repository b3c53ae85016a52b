package io.holdfast.workbench.bed;

import io.holdfast.loadtest.CsvLine;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The GPUs of this machine, as far as {@code nvidia-smi} tells of them. */
public sealed interface Gpus {
    String TOOL = "nvidia-smi";

    /** Fields that are queried of each GPU. */
    String FIELDS = "index,name,driver_version,memory.total";

    /** Matches the version in the head of nvidia-smi without options. */
    Pattern CUDA = Pattern.compile("CUDA Version: *([0-9.]+)");

    /** Streaming multiprocessors by the word of the name that tells the model; PCIe and SXM of a model alike. */
    Map<String, Integer> SMS = Map.ofEntries(
            Map.entry("V100", 80),
            Map.entry("T4", 40),
            Map.entry("A100", 108),
            Map.entry("A30", 56),
            Map.entry("A10", 72),
            Map.entry("A10G", 80),
            Map.entry("A40", 84),
            Map.entry("L4", 58),
            Map.entry("L40S", 142),
            Map.entry("H100", 132),
            Map.entry("H200", 132),
            Map.entry("B200", 148));

    /** There is no {@code nvidia-smi}, so no GPU of NVIDIA's that anybody could ask about. */
    record None() implements Gpus {}

    /** A tool that is there and gave no answer. */
    record Unknown(String why) implements Gpus {}

    /**
     * It told.
     *
     * @param processes what computes on them
     * @param links how they are linked with each other
     */
    record Present(List<Gpu> gpus, List<ComputeProcess> processes, Optional<Links> links) implements Gpus {
        public Present {
            gpus = List.copyOf(gpus);
            processes = List.copyOf(processes);
        }

        /** Returns the processes that compute on them and are none of these. */
        List<ComputeProcess> foreign(Set<Long> own) {
            return processes.stream()
                    .filter(process -> !own.contains(process.pid()))
                    .toList();
        }
    }

    /** One GPU. */
    record Gpu(int index, String name, String driver, String memory, Optional<String> computeCapability, String cuda) {
        /** Returns a text such as {@code NVIDIA H100 80GB HBM3, 81559 MiB, compute capability 9.0, 132 SMs}. */
        String text() {
            return name
                    + (memory.isEmpty() ? "" : ", " + memory)
                    + computeCapability.map(of -> ", compute capability " + of).orElse("")
                    + multiprocessors().stream()
                            .mapToObj(number -> ", " + number + " SMs")
                            .findFirst()
                            .orElse("");
        }

        /**
         * Number of streaming multiprocessors, which nvidia-smi does not tell, by the name; absent for other models.
         */
        OptionalInt multiprocessors() {
            return SMS.entrySet().stream()
                    .filter(model -> List.of(name.split("[ -]", -1)).contains(model.getKey()))
                    .mapToInt(Map.Entry::getValue)
                    .findFirst();
        }
    }

    /** A process that computes on one of them. */
    record ComputeProcess(long pid, String name, String memory) {
        String text() {
            return name + ", process " + pid + (memory.isEmpty() ? "" : ", " + memory);
        }
    }

    /**
     * GPUs that are linked by NVLink.
     *
     * @param groups those that reach each other so, each of at least two
     * @param alone those that have no such link
     */
    record Links(List<Set<Integer>> groups, Set<Integer> alone) {
        private static final Pattern LINK = Pattern.compile("NV[0-9]+");
        private static final Pattern NAME = Pattern.compile("GPU([0-9]+)");
        private static final Pattern COLOUR = Pattern.compile("\u001b\\[[0-9;]*m");

        public Links {
            groups = List.copyOf(groups);
            alone = Set.copyOf(alone);
        }

        /** The matrix that {@code nvidia-smi topo -m} prints; absent where there is none. */
        static Optional<Links> of(String matrix) {
            List<String> lines = COLOUR.matcher(matrix).replaceAll("").lines().toList();
            Optional<String> head = lines.stream()
                    .filter(line -> line.strip().startsWith("GPU0") && !line.startsWith("GPU0"))
                    .findFirst();
            if (head.isEmpty()) {
                return Optional.empty();
            }
            List<String> columns = words(head.get());
            Map<Integer, Set<Integer>> linked = new TreeMap<>();
            for (String line : lines) {
                List<String> words = words(line);
                if (!words.isEmpty()
                        && line.startsWith("GPU")
                        && NAME.matcher(words.getFirst()).matches()) {
                    int row = number(words.getFirst());
                    Set<Integer> others = linked.computeIfAbsent(row, gpu -> new TreeSet<>());
                    for (int i = 0; i < Math.min(columns.size(), words.size() - 1); i++) {
                        boolean isLink = LINK.matcher(words.get(i + 1)).matches();
                        if (isLink && NAME.matcher(columns.get(i)).matches()) {
                            others.add(number(columns.get(i)));
                        }
                    }
                }
            }
            return linked.isEmpty() ? Optional.empty() : Optional.of(grouped(linked));
        }

        private static Links grouped(Map<Integer, Set<Integer>> linked) {
            List<Set<Integer>> groups = new ArrayList<>();
            Set<Integer> alone = new TreeSet<>();
            Set<Integer> seen = new HashSet<>();
            linked.forEach((gpu, others) -> {
                if (others.isEmpty()) {
                    alone.add(gpu);
                } else if (!seen.contains(gpu)) {
                    Set<Integer> group = new TreeSet<>();
                    reach(gpu, linked, group);
                    seen.addAll(group);
                    groups.add(group);
                }
            });
            return new Links(groups, alone);
        }

        private static void reach(int gpu, Map<Integer, Set<Integer>> linked, Set<Integer> group) {
            if (group.add(gpu)) {
                linked.getOrDefault(gpu, Set.of()).forEach(other -> reach(other, linked, group));
            }
        }

        private static List<String> words(String line) {
            // Some columns have names of two words, all of them after those of the GPUs.
            return line.isBlank() ? List.of() : List.of(line.strip().split("\\s+"));
        }

        private static int number(String name) {
            return Integer.parseInt(name.substring("GPU".length()));
        }

        /** Returns a text such as {@code NVLink 0-1, 2-3; without: 4}. */
        String text() {
            String linked = groups.stream()
                    .map(group -> group.stream().map(String::valueOf).collect(Collectors.joining("-")))
                    .collect(Collectors.joining(", "));
            String single = new TreeSet<>(alone).stream().map(String::valueOf).collect(Collectors.joining(", "));
            return (linked.isEmpty() ? "no NVLink" : "NVLink " + linked)
                    + (single.isEmpty() || linked.isEmpty() ? "" : "; without: " + single);
        }
    }

    /** Asks the machine. */
    static Gpus of(MachineTools tools) {
        Optional<Path> found = tools.find(TOOL);
        if (found.isEmpty()) {
            return new None();
        }
        Path tool = found.get();
        MachineTools.Answer all = tools.ask(tool, "--query-gpu=" + FIELDS + ",compute_cap", "--format=csv,noheader");
        if (!all.isOk()) {
            // Tools of before 2021 know no compute capability, and refuse all of it.
            all = tools.ask(tool, "--query-gpu=" + FIELDS, "--format=csv,noheader");
        }
        if (!all.isOk()) {
            return new Unknown(all.problem());
        }
        Matcher version = CUDA.matcher(tools.ask(tool).text());
        String cuda = version.find() ? version.group(1) : "";
        List<Gpu> gpus = new ArrayList<>();
        for (String line : all.text().lines().filter(line -> !line.isBlank()).toList()) {
            List<String> fields = CsvLine.of(line).fields();
            if (fields.size() < 3 || CsvTable.number(fields.getFirst()).isEmpty()) {
                return new Unknown("it said '" + line.strip() + "'");
            }
            gpus.add(new Gpu(
                    (int) CsvTable.number(fields.getFirst()).getAsDouble(),
                    fields.get(1),
                    fields.get(2),
                    fields.size() > 3 ? fields.get(3) : "",
                    fields.size() > 4 ? Optional.of(fields.get(4)) : Optional.empty(),
                    cuda));
        }
        return new Present(
                gpus,
                processes(tools, tool),
                Links.of(tools.ask(tool, "topo", "-m").text()));
    }

    private static List<ComputeProcess> processes(MachineTools tools, Path tool) {
        MachineTools.Answer told =
                tools.ask(tool, "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader");
        List<ComputeProcess> processes = new ArrayList<>();
        if (told.isOk()) {
            for (String line : told.text().lines().toList()) {
                List<String> fields = CsvLine.of(line).fields();
                if (fields.size() >= 2 && CsvTable.number(fields.getFirst()).isPresent()) {
                    processes.add(new ComputeProcess(
                            (long) CsvTable.number(fields.getFirst()).getAsDouble(),
                            fields.get(1),
                            fields.size() > 2 ? fields.get(2) : ""));
                }
            }
        }
        return processes;
    }
}
