package io.holdfast.workbench.table;

import io.holdfast.workbench.table.PublishedTable.LegStatus;
import io.holdfast.workbench.table.Remark.Topic;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Ends of the legs of a matrix, by what a table reports of each.
 *
 * <p>A leg whose time to first token or throughput is 0 had no output, whatever its status says, and has failed.
 *
 * @param planned the parts that legs are planned as; empty where the table does not tell
 * @param counts of legs by status
 * @param configurations by their path, as {@code b2/warm/streaming/1024tok}
 */
record Outcomes(List<Integer> planned, Map<String, Integer> counts, Map<String, Passes> configurations) {
    private static final Pattern PASS = Pattern.compile("/(?:pass|rep|run)\\d+$");
    private static final Pattern NUMBER = Pattern.compile("\\d{1,9}");
    private static final Pattern OUTPUT = Pattern.compile("ttft.*|.*throughput|.*tps");
    private static final Set<String> GOOD = Set.of("OK", "WARN", "PASS", "PASSED", "COMPLETE");
    private static final int MOST_NEAR = 6;

    /** Passes of one configuration. */
    record Passes(int failed, int all) {
        Passes and(Passes other) {
            return new Passes(failed + other.failed, all + other.all);
        }
    }

    static Outcomes of(PublishedTable table) {
        Set<Map<String, String>> silent = table.observations().stream()
                .filter(each -> each.value() == 0
                        && OUTPUT.matcher(each.metric().name()).matches())
                .map(Observation::where)
                .collect(Collectors.toSet());
        Map<String, Integer> counts = new TreeMap<>();
        Map<String, Passes> configurations = new LinkedHashMap<>();
        for (LegStatus leg : table.statuses()) {
            String status =
                    silent.contains(leg.where()) ? "EMPTY" : leg.status().toUpperCase(Locale.ROOT);
            counts.merge(status, 1, Integer::sum);
            configurations.merge(
                    configuration(leg.where(), table.settings()),
                    new Passes(GOOD.contains(status) ? 0 : 1, 1),
                    Passes::and);
        }
        String planned = table.settings().getOrDefault(Column.PLANNED, "").replaceFirst("=.*", "");
        return new Outcomes(
                NUMBER.matcher(planned)
                        .results()
                        .map(number -> Integer.parseInt(number.group()))
                        .toList(),
                counts,
                configurations);
    }

    private static String configuration(Map<String, String> where, Map<String, String> settings) {
        String leg = where.getOrDefault(
                Column.LEG,
                where.entrySet().stream()
                        .filter(each -> !settings.containsKey(each.getKey()))
                        .map(Map.Entry::getValue)
                        .collect(Collectors.joining("/")));
        return PASS.matcher(leg).replaceFirst("");
    }

    int done() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** Returns the configurations of which a pass failed, in the order of the table. */
    List<String> failing() {
        return named(passes -> passes.failed() > 0);
    }

    private List<String> named(Predicate<Passes> are) {
        return configurations.entrySet().stream()
                .filter(each -> are.test(each.getValue()))
                .map(Map.Entry::getKey)
                .toList();
    }

    /** Returns what all failed ones have in common and not all others, by part of their path. */
    List<String> commonFactors() {
        int size =
                failing().stream().findFirst().map(name -> parts(name).size()).orElse(0);
        List<String> all = named(any -> true).stream()
                .filter(name -> parts(name).size() == size)
                .toList();
        return IntStream.range(0, size)
                .filter(part ->
                        values(failing(), part).size() < values(all, part).size())
                .mapToObj(part -> String.join(" or ", values(failing(), part)))
                .toList();
    }

    private static List<String> values(List<String> names, int part) {
        return names.stream()
                .map(Outcomes::parts)
                .filter(each -> each.size() > part)
                .map(each -> each.get(part))
                .distinct()
                .toList();
    }

    private static List<String> parts(String configuration) {
        return Arrays.asList(configuration.split("/", -1));
    }

    /** Returns those that passed every time and differ from this one in one part alone, the later parts first. */
    List<String> nearestPassing(String failing) {
        return named(passes -> passes.failed() == 0).stream()
                .filter(other -> difference(failing, other) >= 0)
                .sorted(Comparator.comparingInt((String other) -> difference(failing, other))
                        .reversed())
                .toList();
    }

    /** Returns the only part in which two differ; -1 where there is no such part. */
    private static int difference(String one, String other) {
        List<String> parts = parts(one);
        List<String> others = parts(other);
        int[] differing = parts.size() == others.size()
                ? IntStream.range(0, parts.size())
                        .filter(part -> !parts.get(part).equals(others.get(part)))
                        .toArray()
                : new int[0];
        return differing.length == 1 ? differing[0] : -1;
    }

    List<Remark> remarks() {
        Remarks remarks = new Remarks();
        int total = planned.stream().mapToInt(Integer::intValue).sum();
        boolean partial = !planned.isEmpty() && done() < total;
        String sum = planned.size() < 2
                ? Integer.toString(total)
                : planned.stream().map(String::valueOf).collect(Collectors.joining(" + ")) + " = " + total;
        remarks.say(
                partial || !failing().isEmpty(),
                Topic.OUTCOMES,
                "",
                (partial ? "PARTIAL: " : "") + done() + " legs"
                        + (planned.isEmpty()
                                ? ", and it does not say how many were planned"
                                : String.format(Locale.ROOT, " of %s planned (%.1f %%)", sum, 100.0 * done() / total))
                        + ": "
                        + counts.entrySet().stream()
                                .map(each -> each.getValue() + " " + each.getKey())
                                .collect(Collectors.joining(", "))
                        + ".");
        if (!failing().isEmpty()) {
            remarks.against(
                    Topic.OUTCOMES, "", "What failed has in common: " + String.join(", ", commonFactors()) + ".");
        }
        configurations.forEach((name, passes) -> {
            if (passes.failed() > 0) {
                String near = nearestPassing(name).stream().limit(MOST_NEAR).collect(Collectors.joining(", "));
                remarks.against(
                        Topic.OUTCOMES,
                        name,
                        passes.failed() + "/" + passes.all() + " failed" + (near.isEmpty() ? "" : "; passed: " + near)
                                + ".");
            }
        });
        return remarks.all();
    }
}
