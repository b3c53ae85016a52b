package io.holdfast.benchmarks;

import io.holdfast.core.hold.HoldRequest;

/** Index of blocks, as a benchmark uses it. */
interface PrefixIndex extends ChurnSink {
    int match(HoldRequest path);

    int size();
}
