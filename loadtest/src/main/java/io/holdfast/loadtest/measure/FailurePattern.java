package io.holdfast.loadtest.measure;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Levels that failing configurations have in common, and the neighbours of these that did not fail.
 *
 * <p>A configuration is a list of levels, one of each factor, as batch 2, warm, streaming, 1024. Levels of a factor
 * have an order, that in which they first come: beside a level are the one before and the one after it.
 *
 * @param factors names of what varies
 * @param outcomes of each configuration, in the order in which they ran
 */
public record FailurePattern(List<String> factors, Map<List<String>, Outcome> outcomes) {
    /** Number of times that a configuration ran, and that it failed. */
    public record Outcome(int failed, int passes) {
        Outcome plus(boolean another) {
            return new Outcome(failed + (another ? 1 : 0), passes + 1);
        }
    }

    public FailurePattern {
        factors = List.copyOf(factors);
        outcomes = Collections.unmodifiableMap(new LinkedHashMap<>(outcomes));
    }

    /** Counts configurations that ran one after the other; the value is true if that run failed. */
    public static FailurePattern of(List<String> factors, List<Map.Entry<List<String>, Boolean>> runs) {
        Map<List<String>, Outcome> outcomes = new LinkedHashMap<>();
        runs.forEach(run -> outcomes.merge(
                run.getKey(), new Outcome(run.getValue() ? 1 : 0, 1), (known, one) -> known.plus(run.getValue())));
        return new FailurePattern(factors, outcomes);
    }

    /** Returns the configurations that failed at least once. */
    public Map<List<String>, Outcome> failing() {
        Map<List<String>, Outcome> failing = new LinkedHashMap<>();
        outcomes.forEach((configuration, outcome) -> {
            if (outcome.failed() > 0) {
                failing.put(configuration, outcome);
            }
        });
        return failing;
    }

    /**
     * Returns the levels of failing configurations for each factor that tells them from others; other factors are left
     * out.
     */
    public Map<String, List<String>> common() {
        Map<String, List<String>> common = new LinkedHashMap<>();
        for (int factor = 0; factor < factors.size(); factor++) {
            List<String> all = levels(factor, outcomes.keySet());
            List<String> here = levels(factor, failing().keySet());
            if (!here.isEmpty() && here.size() < all.size()) {
                common.put(factors.get(factor), here);
            }
        }
        return common;
    }

    /** Returns the levels of a factor, in the order of all its levels. */
    private List<String> levels(int factor, Set<List<String>> of) {
        Set<String> all = new LinkedHashSet<>();
        outcomes.keySet().forEach(configuration -> all.add(configuration.get(factor)));
        Set<String> some = of.stream().map(each -> each.get(factor)).collect(Collectors.toCollection(TreeSet::new));
        List<String> ordered = new ArrayList<>(all);
        ordered.removeIf(level -> !some.contains(level));
        return ordered;
    }

    /** Configurations that never failed and differ from this one in one factor, by the level beside it. */
    public List<List<String>> passingBeside(List<String> failing) {
        List<List<String>> beside = new ArrayList<>();
        for (int factor = 0; factor < factors.size(); factor++) {
            List<String> all = levels(factor, outcomes.keySet());
            int here = all.indexOf(failing.get(factor));
            for (int other : new int[] {here - 1, here + 1}) {
                if (other >= 0 && other < all.size()) {
                    List<String> neighbour = new ArrayList<>(failing);
                    neighbour.set(factor, all.get(other));
                    if (outcomes.containsKey(neighbour)
                            && outcomes.get(neighbour).failed() == 0) {
                        beside.add(List.copyOf(neighbour));
                    }
                }
            }
        }
        return beside;
    }

    /** All of it for people, a line each; none where nothing failed. */
    public List<String> lines() {
        Map<List<String>, Outcome> failing = failing();
        if (failing.isEmpty()) {
            return List.of();
        }
        List<String> lines = new ArrayList<>();
        failing.forEach((configuration, outcome) -> {
            List<List<String>> beside = passingBeside(configuration);
            lines.add(outcome.failed() + "/" + outcome.passes() + "  " + String.join("/", configuration)
                    + (beside.isEmpty()
                            ? ""
                            : "  (passing beside it: "
                                    + beside.stream()
                                            .map(each -> String.join("/", each))
                                            .collect(Collectors.joining(", "))
                                    + ")"));
        });
        Map<String, List<String>> common = common();
        if (!common.isEmpty()) {
            long there = outcomes.keySet().stream()
                    .filter(each -> isIn(each, common))
                    .count();
            lines.add("All that failed has in common: "
                    + common.entrySet().stream()
                            .map(each -> each.getKey() + " " + String.join(" or ", each.getValue()))
                            .collect(Collectors.joining(", "))
                    + "; of the " + there + " configurations there " + failing.size() + " failed, of the "
                    + (outcomes.size() - there) + " others none.");
        }
        return lines;
    }

    private boolean isIn(List<String> configuration, Map<String, List<String>> common) {
        return common.entrySet().stream()
                .allMatch(each -> each.getValue().contains(configuration.get(factors.indexOf(each.getKey()))));
    }
}
