package io.holdfast.workbench.table;

import io.holdfast.workbench.table.PublishedTable.LegStatus;
import io.holdfast.workbench.table.Remark.Topic;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Ends of the legs of a matrix, by what a table reports of each.
 *
 * <p>A leg whose time to first token or throughput is 0 had no output, whatever its status says, and has failed.
 *
 * @param planned legs in all and the parts that they are planned as; absent where the table does not tell
 * @param counts of legs by status
 * @param configurations by their path, as {@code b2/warm/streaming/1024tok}
 */
record Outcomes(Optional<Planned> planned, Map<String, Integer> counts, Map<String, Passes> configurations) {
    private static final Pattern PASS = Pattern.compile("/(?:pass|rep|run)\\d+$");
    private static final Pattern NUMBER = Pattern.compile("\\d+");
    private static final Set<String> GOOD = Set.of("ok", "warn", "pass", "passed", "complete");
    private static final String EMPTY = "EMPTY";
    private static final int MOST_NEAR = 6;

    /** A sum with its parts, as {@code 198 + 6 = 204}. */
    record Planned(List<Integer> parts) {
        int total() {
            return parts.stream().mapToInt(Integer::intValue).sum();
        }

        String text() {
            return parts.size() < 2
                    ? Integer.toString(total())
                    : parts.stream().map(String::valueOf).collect(Collectors.joining(" + ")) + " = " + total();
        }
    }

    /** Passes of one configuration. */
    record Passes(int failed, int all) {
        String text() {
            return failed + "/" + all + " failed";
        }
    }

    static Outcomes of(PublishedTable table) {
        Set<Map<String, String>> silent = table.observations().stream()
                .filter(each -> each.value() == 0
                        && (each.metric().name().startsWith("ttft")
                                || each.metric().name().endsWith("throughput")
                                || each.metric().name().endsWith("tps")))
                .map(Observation::where)
                .collect(Collectors.toCollection(HashSet::new));
        Map<String, Integer> counts = new TreeMap<>();
        Map<String, Passes> configurations = new LinkedHashMap<>();
        for (LegStatus leg : table.statuses()) {
            String status = silent.contains(leg.where()) ? EMPTY : leg.status().toUpperCase(Locale.ROOT);
            counts.merge(status, 1, Integer::sum);
            int failed = GOOD.contains(status.toLowerCase(Locale.ROOT)) ? 0 : 1;
            configurations.merge(
                    configuration(leg.where(), table.settings()),
                    new Passes(failed, 1),
                    (a, b) -> new Passes(a.failed + b.failed, a.all + b.all));
        }
        return new Outcomes(
                Optional.ofNullable(table.settings().get(Column.PLANNED)).map(Outcomes::planned),
                counts,
                configurations);
    }

    private static Planned planned(String text) {
        List<Integer> parts = new ArrayList<>();
        Matcher numbers = NUMBER.matcher(text.replaceFirst("=.*", ""));
        while (numbers.find()) {
            parts.add(Integer.parseInt(
                    numbers.group().substring(0, Math.min(9, numbers.group().length()))));
        }
        return new Planned(List.copyOf(parts));
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

    /** Configurations of which a pass failed, in the order of the table. */
    List<String> failing() {
        return configurations.keySet().stream()
                .filter(name -> passes(name).failed() > 0)
                .toList();
    }

    private Passes passes(String name) {
        return configurations.getOrDefault(name, new Passes(0, 0));
    }

    /** Returns what all failed ones have in common and not all others, by part of their path. */
    List<String> commonFactors() {
        List<List<String>> failed = failing().stream().map(Outcomes::parts).toList();
        if (failed.isEmpty()) {
            return List.of();
        }
        int parts = failed.getFirst().size();
        List<List<String>> all = configurations.keySet().stream()
                .map(Outcomes::parts)
                .filter(each -> each.size() == parts)
                .toList();
        List<String> factors = new ArrayList<>();
        for (int i = 0; i < parts; i++) {
            Set<String> of = values(failed, i);
            if (of.size() < values(all, i).size()) {
                factors.add(String.join(" or ", of));
            }
        }
        return factors;
    }

    private static Set<String> values(List<List<String>> configurations, int part) {
        return configurations.stream()
                .filter(each -> each.size() > part)
                .map(each -> each.get(part))
                .collect(Collectors.toCollection(LinkedHashSet::new));
    }

    private static List<String> parts(String configuration) {
        return Arrays.asList(configuration.split("/", -1));
    }

    /** Returns those that passed every time and differ from this one in one part alone, the later parts first. */
    List<String> nearestPassing(String failing) {
        List<String> parts = parts(failing);
        return configurations.keySet().stream()
                .filter(other -> passes(other).failed() == 0
                        && difference(parts, parts(other)).isPresent())
                .sorted(java.util.Comparator.comparingInt((String other) ->
                                difference(parts, parts(other)).orElseThrow())
                        .reversed())
                .toList();
    }

    /** The only part in which two differ. */
    private static OptionalInt difference(List<String> one, List<String> other) {
        if (one.size() != other.size()) {
            return OptionalInt.empty();
        }
        int[] differing = IntStream.range(0, one.size())
                .filter(i -> !one.get(i).equals(other.get(i)))
                .toArray();
        return differing.length == 1 ? OptionalInt.of(differing[0]) : OptionalInt.empty();
    }

    List<Remark> remarks() {
        List<Remark> remarks = new ArrayList<>();
        String told = counts.entrySet().stream()
                .map(each -> each.getValue() + " " + each.getKey())
                .collect(Collectors.joining(", "));
        boolean partial = planned.isPresent() && done() < planned.get().total();
        String of = planned.map(all -> String.format(
                        Locale.ROOT, " of %s planned (%.1f %%)", all.text(), 100.0 * done() / all.total()))
                .orElse(", and it does not say how many were planned");
        remarks.add(new Remark(
                Topic.OUTCOMES,
                "",
                (partial ? "PARTIAL: " : "") + done() + " legs" + of + ": " + told + ".",
                partial || !failing().isEmpty()));
        if (!failing().isEmpty()) {
            remarks.add(Remark.against(
                    Topic.OUTCOMES, "", "What failed has in common: " + String.join(", ", commonFactors()) + "."));
        }
        for (String each : failing()) {
            List<String> near = nearestPassing(each);
            remarks.add(Remark.against(
                    Topic.OUTCOMES,
                    each,
                    passes(each).text()
                            + (near.isEmpty()
                                    ? "."
                                    : "; passed: "
                                            + near.stream().limit(MOST_NEAR).collect(Collectors.joining(", ")) + ".")));
        }
        return remarks;
    }
}
