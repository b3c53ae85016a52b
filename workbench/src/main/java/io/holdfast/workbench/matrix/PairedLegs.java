package io.holdfast.workbench.matrix;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Experiment;
import io.holdfast.evidence.Judge;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Verdict;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Pairs of legs of which each gave one number, for a verdict on what the two kinds of leg differ in. */
final class PairedLegs {
    private final Map<PairOrder, List<Double>> logRatios = new EnumMap<>(PairOrder.class);

    PairedLegs() {
        for (PairOrder order : PairOrder.values()) {
            logRatios.put(order, new ArrayList<>());
        }
    }

    /**
     * A pair is over.
     *
     * @param order where the baseline is the kind of leg that the other is held against
     * @param first of which less is better
     */
    void add(PairOrder order, double first, double second) {
        if (first > 0 && second > 0) {
            logRatios.computeIfAbsent(order, any -> new ArrayList<>()).add(Math.log(second / first));
        }
    }

    int pairs() {
        return logRatios.values().stream().mapToInt(List::size).sum();
    }

    private CrossoverData data() {
        return CrossoverData.of(of(PairOrder.AA), of(PairOrder.BP), of(PairOrder.PB));
    }

    private double[] of(PairOrder order) {
        return logRatios.getOrDefault(order, List.of()).stream()
                .mapToDouble(Double::doubleValue)
                .toArray();
    }

    /**
     * Returns verdicts on each question, where all are asked of the same suite: the more there are, the less one of
     * them alone can show.
     *
     * @param planned pairs that were fixed beforehand, by question
     */
    static <Q> Map<Q, Verdict> verdicts(Map<Q, PairedLegs> pairs, Map<Q, Integer> planned) {
        Map<Q, Verdict> verdicts = new LinkedHashMap<>();
        pairs.forEach((question, its) -> {
            List<Double> others = new ArrayList<>();
            pairs.forEach((other, each) -> {
                if (!other.equals(question)) {
                    Estimate.of(each.data()).tPValue().ifPresent(others::add);
                }
            });
            verdicts.put(
                    question,
                    Judge.judge(
                            Experiment.of(its.data(), CacheProof.unknown())
                                    .withoutHold()
                                    .withPlannedPairs(planned.getOrDefault(question, 0))
                                    .withOtherPrimaryPValues(others),
                            Criteria.standard()));
        });
        return verdicts;
    }
}
