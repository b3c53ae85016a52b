package io.holdfast.benchmarks;

import io.holdfast.events.KvEventEncoder.Dialect;

/** Way in which an engine cuts its blocks into events. */
public enum EventStyle {
    /** Many prompts in flight, each a few blocks further; blocks leave one by one. */
    VLLM(Dialect.VLLM_MAPS, 2, 1),
    /** Few insertions, each of many blocks; blocks leave by the radix node. */
    SGLANG(Dialect.SGLANG_MAPS, 8, 8);

    final Dialect dialect;
    final int blocksPerStore;
    final int blocksPerRemoval;

    EventStyle(Dialect dialect, int blocksPerStore, int blocksPerRemoval) {
        this.dialect = dialect;
        this.blocksPerStore = blocksPerStore;
        this.blocksPerRemoval = blocksPerRemoval;
    }
}
