package io.holdfast.benchmarks;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;

/** Takes what {@link Churn} makes, which is never a clear, a gap or a restart. */
interface ChurnSink extends KvEventSink {
    @Override
    default void cleared() {
        throw new IllegalStateException("Churn does not clear.");
    }

    @Override
    default void gap(Gap gap) {
        throw new IllegalStateException("Churn has no gaps.");
    }

    @Override
    default void restarted(long seen) {
        throw new IllegalStateException("Churn does not restart.");
    }
}
