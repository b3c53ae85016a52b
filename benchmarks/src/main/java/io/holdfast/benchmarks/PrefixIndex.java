package io.holdfast.benchmarks;

import io.holdfast.core.HoldRequest;

/** What a benchmark asks of an index of blocks. */
interface PrefixIndex extends ChurnSink {
    int match(HoldRequest path);

    int size();
}
