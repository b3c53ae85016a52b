package io.holdfast.evidence;

import java.util.Arrays;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Crossover data made to measure. */
final class Pairs {
    /** A server that shows a lost prefix in the baseline and a kept one when pinned. */
    static final CacheProof CONFIRMED = proof(new Interval(0.30, 0.40), new Interval(0.25, 0.35));

    private Pairs() {}

    static CacheProof proof(Interval exposure, Interval mechanism) {
        return new CacheProof(Optional.of(exposure), Optional.of(mechanism), 0.005);
    }

    /** Half of the values above the mean by this much, half below: mean and spread come out exactly. */
    static double[] balanced(int count, double mean, double deviation) {
        double[] values = new double[count];
        for (int i = 0; i < count; i++) {
            values[i] = i % 2 == 0 ? mean + deviation : mean - deviation;
        }
        return values;
    }

    /** Four pairs per order that follow the model without noise but this deviation. */
    static CrossoverData model(double orderBias, double effect, double carryOver, double deviation) {
        return CrossoverData.of(
                balanced(4, orderBias, deviation),
                balanced(4, orderBias + effect, deviation),
                balanced(4, orderBias - effect + carryOver, deviation));
    }

    static CrossoverData simulate(
            RandomGenerator random, int perOrder, double sd, double orderBias, double effect, double carryOver) {
        return CrossoverData.of(
                normal(random, perOrder, orderBias, sd),
                normal(random, perOrder, orderBias + effect, sd),
                normal(random, perOrder, orderBias - effect + carryOver, sd));
    }

    static double[] normal(RandomGenerator random, int count, double mean, double sd) {
        double[] values = new double[count];
        Arrays.setAll(values, i -> random.nextGaussian(mean, sd));
        return values;
    }
}
