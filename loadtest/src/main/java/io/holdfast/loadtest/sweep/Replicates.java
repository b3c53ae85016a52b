package io.holdfast.loadtest.sweep;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * One configuration measured on several servers: how far servers lie apart though nothing was changed.
 *
 * @param configuration what is the same
 * @param count how often
 * @param baselineSpread the largest of the baseline legs' values over the smallest, less one
 * @param pinnedSpread the same of pinned legs
 */
public record Replicates(String configuration, int count, double baselineSpread, double pinnedSpread) {
    /** One measurement of a configuration. */
    public record Measured(String configuration, double baseline, double pinned) {}

    /** Every configuration that was measured more than once; those that differ in anything are not put together. */
    public static List<Replicates> of(List<Measured> measured) {
        Map<String, List<Measured>> same = new LinkedHashMap<>();
        measured.forEach(one -> same.computeIfAbsent(one.configuration(), name -> new ArrayList<>())
                .add(one));
        return same.entrySet().stream()
                .filter(group -> group.getValue().size() > 1)
                .map(group -> new Replicates(
                        group.getKey(),
                        group.getValue().size(),
                        spread(group.getValue(), Measured::baseline),
                        spread(group.getValue(), Measured::pinned)))
                .toList();
    }

    private static double spread(List<Measured> of, ToDoubleFunction<Measured> value) {
        return of.stream().mapToDouble(value).max().orElseThrow()
                        / of.stream().mapToDouble(value).min().orElseThrow()
                - 1;
    }
}
