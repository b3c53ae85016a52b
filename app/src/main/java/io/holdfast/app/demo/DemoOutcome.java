package io.holdfast.app.demo;

import io.holdfast.evidence.CacheProof;
import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.Step;

/**
 * A scenario and what the load test made of it.
 *
 * @param warming whether the engine was made to have an order bias
 */
public record DemoOutcome(DemoScenario scenario, Result result, boolean warming) {
    private static final double MILLION = 1e6;

    /** Later than this no machine is that has nothing else to do. */
    private static final double IDLE_LATENESS_MILLIS = 10;

    /** What the finding means for the demo. */
    enum Judgement {
        /** The load test found what is there. */
        EXPECTED,
        /** What was found is not what is there, and the machine's own pace is why. */
        TOO_BUSY,
        /** There were too few rounds for any finding. */
        TOO_FEW_ROUNDS,
        /** It found something else. */
        UNEXPECTED
    }

    /**
     * Cached tokens do not depend on how busy a machine is: where they show what is there and the times do not, the machine
     * is to blame. A gate that failed is blamed on it where it was late for times that were fixed beforehand.
     */
    Judgement judgement() {
        Finding found = result.verdict().finding();
        if (found == scenario.expected()) {
            return Judgement.EXPECTED;
        }
        if (found == Finding.INVALID) {
            return worstLatenessMillis() > IDLE_LATENESS_MILLIS || isSpoiledBySurroundings()
                    ? Judgement.TOO_BUSY
                    : Judgement.UNEXPECTED;
        }
        if (result.header().plan().lives().size() < 3 * Criteria.FEWEST_PER_ORDER) {
            return Judgement.TOO_FEW_ROUNDS;
        }
        return cacheIsAsExpected() ? Judgement.TOO_BUSY : Judgement.UNEXPECTED;
    }

    private boolean isSpoiledBySurroundings() {
        Gates gates = new Gates(result.header());
        return result.legs().stream().anyMatch(gates::isRepeatable);
    }

    private boolean cacheIsAsExpected() {
        CacheProof proof = result.cacheProof();
        return scenario.expected() == Finding.NO_EXPOSURE
                ? proof.exposed() == Answer.NO
                : proof.exposed() == Answer.YES && proof.kept() == Answer.YES;
    }

    /** By how much the leg's hold step missed its fixed length; 0 without one. */
    private double latenessMillis(LegRecord leg) {
        return leg.steps().stream()
                .filter(step -> step.kind() == Step.Kind.HOLD)
                .mapToDouble(step -> (step.ended() - step.began()) / MILLION
                        - result.header().slotMillis())
                .findFirst()
                .orElse(0);
    }

    /** The longest by which the machine was late for a time that was fixed beforehand. */
    double worstLatenessMillis() {
        return result.legs().stream().mapToDouble(this::latenessMillis).max().orElse(0);
    }

    /** Whether the test saw the order bias that was there, or that there was none. */
    boolean sawOrderBias() {
        return result.verdict().withOrderBias() == warming;
    }

    String expectation() {
        return scenario.expected() + (warming ? " with order bias" : "");
    }
}
