package io.holdfast.storm;

import io.holdfast.storm.DefaultCell.Flood;
import io.holdfast.storm.DefaultCell.Result;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;

/** What came out of all cells: a line for each engine, flood and capacity, and what missed a bar, as Markdown. */
final class DefaultTable {
    private static final String HEADER =
            "| engine | backend | flood | capacity | cells | held by round 3 | first hold, median (last) | found"
                + " without a sidecar, median | found once held, least (median) | p99 of other requests, median (most)"
                + " |\n"
                + "|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";

    private final List<Result> results;

    DefaultTable(List<Result> results) {
        this.results = List.copyOf(results);
    }

    String markdown() {
        SequencedMap<String, List<Result>> lines = new java.util.LinkedHashMap<>();
        results.stream()
                .sorted(Comparator.<Result, StockEngine.Kind>comparing(
                                result -> result.cell().engine().kind())
                        .thenComparing(result -> result.cell().flood())
                        .thenComparingInt(result -> result.cell().engine().capacity()))
                .forEach(result -> lines.computeIfAbsent(line(result.cell()), _ -> new java.util.ArrayList<>())
                        .add(result));
        return HEADER
                + lines.entrySet().stream()
                        .map(line -> line.getKey() + summary(line.getValue()))
                        .collect(Collectors.joining())
                + "\n" + misses();
    }

    private static String line(DefaultCell cell) {
        return String.format(
                Locale.ROOT,
                "| %s | %s | %s | %,d |",
                cell.engine().kind().isVllm() ? "vLLM" : "SGLang",
                cell.engine().kind().way.name().toLowerCase(Locale.ROOT),
                cell.flood() == Flood.WHOLE ? "at once" : "in two halves",
                cell.engine().capacity());
    }

    private static String summary(List<Result> cells) {
        long inTime = cells.stream()
                .filter(cell -> cell.firstHold() > 0 && cell.firstHold() <= 3)
                .count();
        double[] first = of(cells, cell -> cell.firstHold() == 0 ? Double.NaN : cell.firstHold());
        double[] after = of(cells, Result::after);
        double[] slower = of(cells, Result::slower);
        return String.format(
                Locale.ROOT,
                " %d | %d | %s (%s) | %s | %s (%s) | %+.1f %% (%+.1f %%) |%n",
                cells.size(),
                inTime,
                first.length == 0 ? "-" : String.format(Locale.ROOT, "%.0f", median(first)),
                first.length == 0 ? "-" : String.format(Locale.ROOT, "%.0f", first[first.length - 1]),
                percent(of(cells, Result::without), true),
                percent(after, false),
                percent(after, true),
                100 * median(slower),
                100 * slower[slower.length - 1]);
    }

    private static String percent(double[] sorted, boolean middle) {
        return sorted.length == 0
                ? "-"
                : String.format(Locale.ROOT, "%.1f %%", 100 * (middle ? median(sorted) : sorted[0]));
    }

    private static double[] of(List<Result> cells, ToDoubleFunction<Result> number) {
        return cells.stream()
                .mapToDouble(number)
                .filter(value -> !Double.isNaN(value))
                .sorted()
                .toArray();
    }

    private static double median(double[] sorted) {
        return sorted[sorted.length / 2];
    }

    private String misses() {
        Map<String, List<String>> byCause = new TreeMap<>();
        for (Result result : results) {
            HoldsByDefaultTest.bars()
                    .flatMap(bar -> bar.miss(result).stream())
                    .forEach(miss -> byCause.computeIfAbsent(
                                    miss.replaceAll("-?[0-9][0-9.,]*", "N"), _ -> new java.util.ArrayList<>())
                            .add(result.cell() + ": " + miss));
        }
        StringBuilder text = new StringBuilder();
        byCause.forEach((cause, cells) -> {
            text.append("\n")
                    .append(cells.size())
                    .append(" cells: ")
                    .append(cause)
                    .append("\n\n");
            int shown = Integer.getInteger("holdfast.defaults.shown", 3);
            cells.stream()
                    .limit(shown)
                    .forEach(cell -> text.append("- ").append(cell).append("\n"));
            if (cells.size() > shown) {
                text.append("- … ").append(sizes(cells)).append("\n");
            }
        });
        return text.toString();
    }

    /** How often each size is among them. */
    private static String sizes(List<String> cells) {
        return Arrays.stream(new String[] {
                    "SGLANG_SESSIONS",
                    "SGLANG",
                    "VLLM",
                    "page 1 ",
                    "page 16",
                    "page 32",
                    "page 64",
                    "context 8192",
                    "context 32768",
                    "context 131072",
                    "capacity 8192",
                    "capacity 24576",
                    "capacity 65536",
                    "capacity 200000",
                    "capacity 1000000",
                    ", 1 at",
                    ", 4 at",
                    ", 16 at",
                    ", 64 at",
                    "answers of 1,",
                    "answers of 8,",
                    "answers of 64,",
                    "answers of 500,",
                    "WHOLE",
                    "HALVES"
                })
                .map(size -> size + " "
                        + cells.stream().filter(cell -> cell.contains(size)).count())
                .filter(count -> !count.endsWith(" 0"))
                .collect(Collectors.joining(", "));
    }
}
