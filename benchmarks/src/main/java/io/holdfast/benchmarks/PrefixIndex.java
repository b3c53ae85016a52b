package io.holdfast.benchmarks;

import io.holdfast.core.hold.HoldRequest;

/** What a benchmark asks of an index of blocks. */
interface PrefixIndex extends ChurnSink {
    int match(HoldRequest path);

    int size();
}
