package io.holdfast.workbench.bed;

import io.holdfast.loadtest.CsvLine;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.report.TextTree;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A table that a profiler exported: kernels with what was measured of each. Read are
 * {@code nsys stats --report cuda_gpu_kern_sum --format csv}, the same by NVTX ranges, as layers are marked by
 * ({@code --report nvtx_kern_sum}), and {@code ncu --csv}. What the profiler did not measure is not there.
 *
 * @param source which of them
 */
public record ProfilerTable(String source, List<Kernel> kernels) {
    /** Above so much of the memory's speed a kernel is called memory-bound. */
    public static final double MEMORY_BOUND_PERCENT = 50;

    private static final String NOT_MEASURED = "not measured";
    private static final String TOTAL = "total time [ms]";
    private static final String SHARE_OF_RANGE = "share of the range [%]";
    private static final String RANGE = "NVTX Range";
    private static final String SHARE = "share of GPU time [%]";

    /** Names of each counter in ncu, in the order in which they are shown; the first that is present counts. */
    private static final Map<String, List<String>> COUNTERS = counters();

    /**
     * A kernel, or all launches of one.
     *
     * @param range the NVTX range that launched it, such as a layer; empty where the table has none
     * @param values by their names with units
     */
    public record Kernel(String range, String name, int launches, Map<String, Double> values) {
        public Kernel {
            values = new LinkedHashMap<>(values);
        }

        Kernel(String name, int launches, Map<String, Double> values) {
            this("", name, launches, values);
        }

        public OptionalDouble value(String name) {
            Double value = values.get(name);
            return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
        }

        /** Applies the rule; absent where the memory's speed was not measured. */
        public Optional<Boolean> memoryBound() {
            OptionalDouble percent = value(Counter.HBM.text());
            return percent.isPresent() ? Optional.of(percent.getAsDouble() > MEMORY_BOUND_PERCENT) : Optional.empty();
        }
    }

    /** Counters by which two kernels, or phases, are compared. */
    public enum Counter {
        SM("SM [%]"),
        TENSOR_CORE("tensor cores [%]"),
        HBM("HBM [%]"),
        L2("L2 [%]"),
        OCCUPANCY("achieved occupancy [%]");

        private final String text;

        Counter(String text) {
            this.text = text;
        }

        public String text() {
            return text;
        }
    }

    private static Map<String, List<String>> counters() {
        Map<String, List<String>> counters = new LinkedHashMap<>();
        counters.put(
                Counter.SM.text(),
                List.of("sm__throughput.avg.pct_of_peak_sustained_elapsed", "Compute (SM) Throughput"));
        counters.put(
                Counter.TENSOR_CORE.text(),
                List.of(
                        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
                        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active"));
        counters.put(
                Counter.HBM.text(), List.of("dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM Throughput"));
        counters.put(
                Counter.L2.text(), List.of("lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2 Cache Throughput"));
        counters.put(
                Counter.OCCUPANCY.text(),
                List.of("sm__warps_active.avg.pct_of_peak_sustained_active", "Achieved Occupancy"));
        return counters;
    }

    public ProfilerTable {
        kernels = List.copyOf(kernels);
    }

    public static ProfilerTable read(Path file) {
        try {
            List<String> lines = Files.readAllLines(file, StandardCharsets.UTF_8);
            // Both tools write what they did before the table.
            int head = 0;
            while (head < lines.size() && !isHead(lines.get(head))) {
                head++;
            }
            CsvTable table = CsvTable.of(lines.subList(head, lines.size()));
            if (table.rows().isEmpty()) {
                throw new LoadTestException(file + " has no table of nsys or ncu; export one by 'nsys stats --report"
                        + " cuda_gpu_kern_sum --format csv' or 'ncu --import FILE --csv'.");
            }
            return table.columns().contains("Kernel Name") && !table.columns().contains(RANGE)
                    ? ofNcu(table)
                    : ofNsys(table);
        } catch (NoSuchFileException e) {
            throw new LoadTestException("There is no file " + file + ".", e);
        } catch (IOException e) {
            throw new LoadTestException(file + " cannot be read: " + e.getMessage() + ".", e);
        }
    }

    private static boolean isHead(String line) {
        List<String> fields = CsvLine.of(line).fields();
        return fields.contains("Kernel Name")
                || (fields.contains("Name") && fields.stream().anyMatch(field -> field.startsWith("Total Time (")));
    }

    private static ProfilerTable ofNsys(CsvTable table) {
        String total = table.columns().stream()
                .filter(column -> column.startsWith("Total Time ("))
                .findFirst()
                .orElse("");
        double toMillis =
                total.contains("(ns)") ? 1e-6 : total.contains("(us)") ? 1e-3 : total.contains("(ms)") ? 1 : 0;
        if (toMillis == 0) {
            throw new LoadTestException(
                    "The column '" + total + "' has no unit that is known; export with --timeunit ns.");
        }
        List<Kernel> kernels = new ArrayList<>();
        for (Map<String, String> row : table.named()) {
            Map<String, Double> values = new LinkedHashMap<>();
            put(values, TOTAL, number(row, total), toMillis);
            put(values, SHARE, number(row, "Time (%)"), 1);
            put(values, "average [ms]", number(row, total.replace("Total Time", "Avg")), toMillis);
            put(values, "longest [ms]", number(row, total.replace("Total Time", "Max")), toMillis);
            String range = row.getOrDefault(RANGE, "");
            kernels.add(new Kernel(
                    range,
                    row.getOrDefault(range.isEmpty() ? "Name" : "Kernel Name", ""),
                    (int) number(row, range.isEmpty() ? "Instances" : "Kern Inst")
                            .orElse(1),
                    values));
        }
        return new ProfilerTable("nsys", kernels);
    }

    /** A line of ncu's table is one metric of one launch; in its raw form one launch with a column for each metric. */
    private static ProfilerTable ofNcu(CsvTable table) {
        Map<String, Map<String, List<Double>>> kernels = new LinkedHashMap<>();
        Map<String, Set<String>> launches = new LinkedHashMap<>();
        for (Map<String, String> row : table.named()) {
            String name = row.getOrDefault("Kernel Name", "");
            String launch = row.getOrDefault("ID", "");
            if (CsvTable.number(launch).isEmpty()) {
                // The line of units below the names of the raw form.
                continue;
            }
            Map<String, List<Double>> of = kernels.computeIfAbsent(name, key -> new LinkedHashMap<>());
            launches.computeIfAbsent(name, key -> new LinkedHashSet<>()).add(launch);
            if (row.containsKey("Metric Name")) {
                add(
                        of,
                        row.getOrDefault("Metric Name", ""),
                        row.getOrDefault("Metric Unit", ""),
                        row.getOrDefault("Metric Value", ""));
            } else {
                row.forEach((metric, value) -> {
                    if (metric.contains("__") || metric.startsWith("launch__")) {
                        add(of, metric, "", value);
                    }
                });
            }
        }
        List<Kernel> all = new ArrayList<>();
        kernels.forEach((name, metrics) ->
                all.add(new Kernel(name, launches.getOrDefault(name, Set.of()).size(), means(metrics))));
        return new ProfilerTable("ncu", all);
    }

    private static void add(Map<String, List<Double>> metrics, String name, String unit, String value) {
        String key = COUNTERS.values().stream().anyMatch(names -> names.contains(name)) || unit.isEmpty()
                ? name
                : name + " [" + unit + "]";
        CsvTable.number(value)
                .ifPresent(number ->
                        metrics.computeIfAbsent(key, any -> new ArrayList<>()).add(number));
    }

    private static Map<String, Double> means(Map<String, List<Double>> metrics) {
        Map<String, Double> values = new LinkedHashMap<>();
        Set<String> told = new LinkedHashSet<>();
        COUNTERS.forEach((shown, names) -> names.stream()
                .filter(metrics::containsKey)
                .findFirst()
                .ifPresent(name -> {
                    values.put(shown, mean(metrics.getOrDefault(name, List.of())));
                    told.addAll(names);
                }));
        metrics.forEach((name, all) -> {
            if (!told.contains(name)) {
                values.put(name, mean(all));
            }
        });
        return values;
    }

    private static double mean(List<Double> all) {
        return all.stream().mapToDouble(Double::doubleValue).average().orElse(0);
    }

    private static OptionalDouble number(Map<String, String> row, String column) {
        return CsvTable.number(row.getOrDefault(column, ""));
    }

    private static void put(Map<String, Double> values, String name, OptionalDouble value, double factor) {
        value.ifPresent(number -> values.put(name, number * factor));
    }

    /** Keeps the kernels whose names or ranges match. */
    public ProfilerTable only(String regex) {
        try {
            Pattern pattern = Pattern.compile(regex);
            return new ProfilerTable(
                    source,
                    kernels.stream()
                            .filter(kernel -> pattern.matcher(kernel.name()).find()
                                    || pattern.matcher(kernel.range()).find())
                            .toList());
        } catch (PatternSyntaxException e) {
            throw new LoadTestException(
                    "'" + regex + "' is no pattern of kernels' names: " + e.getDescription() + ".", e);
        }
    }

    /** Returns the mean of a counter over the launches of all kernels; absent where none has it. */
    public OptionalDouble mean(Counter counter) {
        double sum = 0;
        int launches = 0;
        for (Kernel kernel : kernels) {
            OptionalDouble value = kernel.value(counter.text());
            if (value.isPresent()) {
                sum += value.getAsDouble() * kernel.launches();
                launches += kernel.launches();
            }
        }
        return launches == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / launches);
    }

    /** The kernels with what was measured of each, below the range that launched them where one is told. */
    public TextTree tree() {
        Map<String, List<TextTree>> ranges = new LinkedHashMap<>();
        Map<String, Double> totals = new LinkedHashMap<>();
        kernels.forEach(
                kernel -> totals.merge(kernel.range(), kernel.value(TOTAL).orElse(0), Double::sum));
        for (Kernel kernel : kernels) {
            List<TextTree> values = new ArrayList<>();
            kernel.values().forEach((name, value) -> values.add(TextTree.leaf(name, number(value), source)));
            double total = totals.getOrDefault(kernel.range(), 0.0);
            if (!kernel.range().isEmpty() && total > 0) {
                values.add(TextTree.leaf(
                        SHARE_OF_RANGE, number(100 * kernel.value(TOTAL).orElse(0) / total), "of its kernels"));
            }
            if (source.equals("ncu")) {
                for (Counter counter : Counter.values()) {
                    if (kernel.value(counter.text()).isEmpty()) {
                        values.add(TextTree.leaf(counter.text(), NOT_MEASURED, ""));
                    }
                }
                values.add(TextTree.leaf(
                        "memory-bound (HBM > " + number(MEMORY_BOUND_PERCENT) + " %)",
                        kernel.memoryBound().map(bound -> bound ? "yes" : "no").orElse(NOT_MEASURED),
                        kernel.memoryBound().isPresent() ? "by that rule" : ""));
            }
            ranges.computeIfAbsent(kernel.range(), key -> new ArrayList<>())
                    .add(new TextTree(
                            kernel.name(),
                            kernel.launches() + (kernel.launches() == 1 ? " launch" : " launches"),
                            "",
                            values));
        }
        List<TextTree> nodes = new ArrayList<>();
        ranges.forEach((range, its) -> {
            if (range.isEmpty()) {
                nodes.addAll(its);
            } else {
                nodes.add(new TextTree(range, number(totals.getOrDefault(range, 0.0)), "ms on the GPU", its));
            }
        });
        return TextTree.of(source + ", " + kernels.size() + " kernels", nodes);
    }

    /** Two of them side by side, by counter: both, and the second less the first. */
    public List<String> beside(ProfilerTable other, String name, String otherName) {
        List<String> lines = new ArrayList<>();
        lines.add(String.format(Locale.ROOT, "%-24s %14s %14s %14s", "", name, otherName, "difference"));
        for (Counter counter : Counter.values()) {
            OptionalDouble first = mean(counter);
            OptionalDouble second = other.mean(counter);
            boolean both = first.isPresent() && second.isPresent();
            lines.add(String.format(
                    Locale.ROOT,
                    "%-24s %14s %14s %14s",
                    counter.text(),
                    shown(first),
                    shown(second),
                    both
                            ? String.format(Locale.ROOT, "%+.1f points", second.getAsDouble() - first.getAsDouble())
                            : NOT_MEASURED));
        }
        return lines;
    }

    private static String shown(OptionalDouble value) {
        return value.isPresent() ? number(value.getAsDouble()) : NOT_MEASURED;
    }

    private static String number(double value) {
        return value == Math.rint(value) && Math.abs(value) < 1e15
                ? String.format(Locale.ROOT, "%,d", (long) value)
                : String.format(Locale.ROOT, "%,.3f", value);
    }
}
