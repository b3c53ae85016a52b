package io.holdfast.app;

import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.Result;

/**
 * A scene and what the load test made of it.
 *
 * @param warming whether the engine was made to have an order bias, which an honest test must see
 */
record Played(Scene scene, Result result, boolean warming) {
    /** Whether the load test found what is there. */
    boolean asExpected() {
        Verdict verdict = result.verdict();
        return verdict.finding() == scene.expected() && verdict.withOrderBias() == warming;
    }

    String expectation() {
        return scene.expected() + (warming ? " with order bias" : "");
    }
}
