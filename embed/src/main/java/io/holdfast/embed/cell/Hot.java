package io.holdfast.embed.cell;

import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.Set;

/**
 * What is hot at one engine.
 *
 * @param residenceSeconds how long an untouched prefix survives there; absent where it is not known yet
 * @param capacityTokens tokens that its cache takes; absent where it is not known
 * @param ends at most {@link #MOST_ENDS} prefixes, each once
 */
public record Hot(OptionalDouble residenceSeconds, OptionalLong capacityTokens, List<HotEnd> ends) {
    public static final int MOST_ENDS = 256;
    /** What an engine says of which nothing is known. */
    public static final Hot NOTHING = new Hot(OptionalDouble.empty(), OptionalLong.empty(), List.of());

    /** @throws IllegalArgumentException with one sentence, where it is beyond its bounds */
    public Hot {
        residenceSeconds.ifPresent(seconds -> Form.check(
                seconds >= 0 && Double.isFinite(seconds), "A residence is a finite number of seconds, not below 0."));
        capacityTokens.ifPresent(tokens -> Form.check(tokens >= 0, "A capacity is not below 0."));
        ends = List.copyOf(ends);
        Form.check(ends.size() <= MOST_ENDS, "A digest has at most " + MOST_ENDS + " prefixes; use Hot.most.");
        Set<Long> names = new HashSet<>();
        ends.forEach(end -> Form.check(names.add(end.name()), "A digest has each prefix once."));
    }

    /** Keeps those of any number of prefixes that are touched most; held ones first. */
    public static Hot most(OptionalDouble residenceSeconds, OptionalLong capacityTokens, List<HotEnd> ends) {
        return new Hot(
                residenceSeconds,
                capacityTokens,
                ends.stream()
                        .sorted(Comparator.comparing(HotEnd::held)
                                .thenComparingDouble(HotEnd::touchesAnHour)
                                .reversed()
                                .thenComparingLong(HotEnd::name))
                        .limit(MOST_ENDS)
                        .toList());
    }
}
