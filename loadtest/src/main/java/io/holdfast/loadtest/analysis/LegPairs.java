package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.function.Function;

/** The measured legs of a run by their lives, pairs or blocks, in the order in which the lives ran. */
record LegPairs(Design design, List<Pair> all) {
    LegPairs {
        all = List.copyOf(all);
    }

    static LegPairs of(Design design, List<LegRecord> measured) {
        Map<Integer, List<LegRecord>> begun = new TreeMap<>();
        List<Pair> pairs = new ArrayList<>();
        for (LegRecord leg : measured) {
            List<LegRecord> its = begun.computeIfAbsent(leg.life(), life -> new ArrayList<>());
            its.add(leg);
            if (its.size() == leg.order().legs()) {
                pairs.add(new Pair(its));
            }
        }
        return new LegPairs(design, pairs);
    }

    /**
     * The log ratios of all lives by the number that a leg's requests are reduced to; those without one are left out.
     */
    CrossoverData data(Function<List<RequestRecord>, OptionalDouble> number) {
        return switch (design) {
            case BLOCKS -> CrossoverData.blocks(logRatios(PairOrder.BPPB, number), logRatios(PairOrder.PBBP, number));
            case FRESH_LEGS ->
                CrossoverData.freshLegs(logRatios(PairOrder.BP, number), logRatios(PairOrder.PB, number));
            case CROSSOVER, CONTROLS, NORMAL, REVERSED ->
                CrossoverData.of(
                        logRatios(PairOrder.AA, number),
                        logRatios(PairOrder.BP, number),
                        logRatios(PairOrder.PB, number));
        };
    }

    private double[] logRatios(PairOrder order, Function<List<RequestRecord>, OptionalDouble> number) {
        return all.stream()
                .filter(pair -> pair.order() == order)
                .flatMapToDouble(pair -> pair.logRatio(number).stream())
                .toArray();
    }

    /** The measured legs of one server life, in their order. */
    record Pair(List<LegRecord> legs) {
        Pair {
            legs = List.copyOf(legs);
        }

        PairOrder order() {
            return legs.getFirst().order();
        }

        List<LegRecord> in(Arm arm) {
            return legs.stream().filter(leg -> leg.arm() == arm).toList();
        }

        /** Compares the second leg of a pair with its first, or the pinned legs of a block with its baseline legs. */
        OptionalDouble logRatio(Function<List<RequestRecord>, OptionalDouble> number) {
            boolean block = legs.size() > 2;
            OptionalDouble before = meanLog(block ? in(Arm.BASELINE) : legs.subList(0, 1), number);
            OptionalDouble after = meanLog(block ? in(Arm.PINNED) : legs.subList(1, 2), number);
            return before.isPresent() && after.isPresent()
                    ? OptionalDouble.of(after.getAsDouble() - before.getAsDouble())
                    : OptionalDouble.empty();
        }

        private static OptionalDouble meanLog(
                List<LegRecord> legs, Function<List<RequestRecord>, OptionalDouble> number) {
            double[] logs = legs.stream()
                    .map(leg -> number.apply(leg.requests()))
                    .filter(value -> value.orElse(0) > 0)
                    .mapToDouble(value -> Math.log(value.orElseThrow()))
                    .toArray();
            return logs.length < legs.size() ? OptionalDouble.empty() : mean(logs);
        }

        /** The mean over some legs of what may be unknown of each; unknown as soon as it is of one. */
        OptionalDouble mean(Arm arm, Function<LegRecord, OptionalDouble> of) {
            List<OptionalDouble> values = in(arm).stream().map(of).toList();
            return values.stream().anyMatch(OptionalDouble::isEmpty)
                    ? OptionalDouble.empty()
                    : mean(values.stream()
                            .mapToDouble(OptionalDouble::orElseThrow)
                            .toArray());
        }

        private static OptionalDouble mean(double[] values) {
            double sum = 0;
            for (double value : values) {
                sum += value;
            }
            return values.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(sum / values.length);
        }
    }
}
