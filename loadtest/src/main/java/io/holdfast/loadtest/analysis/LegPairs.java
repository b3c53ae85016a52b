package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;

/** The measured legs of a run, two by two, in the order in which their lives ran. */
record LegPairs(List<Pair> all) {
    LegPairs {
        all = List.copyOf(all);
    }

    static LegPairs of(List<LegRecord> measured) {
        Map<Integer, LegRecord> firsts = new TreeMap<>();
        List<Pair> pairs = new ArrayList<>();
        for (LegRecord leg : measured) {
            if (leg.position() == 1) {
                firsts.put(leg.life(), leg);
            } else if (firsts.containsKey(leg.life())) {
                pairs.add(new Pair(firsts.get(leg.life()), leg));
            }
        }
        return new LegPairs(pairs);
    }

    /** The log ratios of all pairs by the number that a leg's requests are reduced to; those without one are left out. */
    CrossoverData data(Function<List<RequestRecord>, OptionalDouble> number) {
        return CrossoverData.of(
                logRatios(PairOrder.AA, number), logRatios(PairOrder.BP, number), logRatios(PairOrder.PB, number));
    }

    private double[] logRatios(PairOrder order, Function<List<RequestRecord>, OptionalDouble> number) {
        return all.stream()
                .filter(pair -> pair.order() == order)
                .flatMapToDouble(pair -> pair.logRatio(number).stream())
                .toArray();
    }

    /** The two measured legs of one server life. */
    record Pair(LegRecord first, LegRecord second) {
        PairOrder order() {
            return first.order();
        }

        OptionalDouble logRatio(Function<List<RequestRecord>, OptionalDouble> number) {
            OptionalDouble before = number.apply(first.requests());
            OptionalDouble after = number.apply(second.requests());
            return before.isPresent() && after.isPresent() && before.getAsDouble() > 0 && after.getAsDouble() > 0
                    ? OptionalDouble.of(Math.log(after.getAsDouble() / before.getAsDouble()))
                    : OptionalDouble.empty();
        }
    }
}
