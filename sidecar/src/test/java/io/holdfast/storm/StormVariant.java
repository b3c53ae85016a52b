package io.holdfast.storm;

import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import java.util.SplittableRandom;

/** By which backend a storm's sidecars hold, on which engine. */
enum StormVariant {
    /** The branch that pins on the GPU. */
    PIN_BLOCKS(Way.PIN_BLOCKS, Variant.PIN_GPU, Eviction.LRU, false),
    /** Stock SGLang that keeps what sessions refer to. */
    SESSION_HOLD(Way.SESSION_HOLD, Variant.STOCK, Eviction.LRU, false),
    /** Stock SGLang that evicts by priority. */
    PRIORITY_TOUCH(Way.PRIORITY_TOUCH, Variant.STOCK, Eviction.PRIORITY, false),
    /** vLLM with NIXL, whose pins take memory and end by themselves in time. */
    NIXL_LEASE(Way.NIXL, Variant.STOCK, Eviction.LRU, true),
    /** Stock SGLang as it is. */
    KEEP_WARM(Way.KEEP_WARM, Variant.STOCK, Eviction.LRU, false),
    /** Stock vLLM. */
    KEEP_WARM_VLLM(Way.KEEP_WARM, Variant.STOCK, Eviction.LRU, true),
    /** vLLM with the connector. */
    VLLM_CONNECTOR(Way.CONNECTOR, Variant.STOCK, Eviction.LRU, true);

    final Way way;
    final Variant code;
    final Eviction eviction;
    final boolean vllm;

    StormVariant(Way way, Variant code, Eviction eviction, boolean vllm) {
        this.way = way;
        this.code = code;
        this.eviction = eviction;
        this.vllm = vllm;
    }

    /** What this seed draws, by random numbers of its own, so that the storm's stay what they are. */
    static StormVariant of(long seed) {
        return switch (new SplittableRandom(~seed).nextInt(10)) {
            case 0, 1 -> PIN_BLOCKS;
            case 2, 3 -> SESSION_HOLD;
            case 4, 5 -> PRIORITY_TOUCH;
            case 6 -> NIXL_LEASE;
            case 7 -> KEEP_WARM;
            case 8 -> KEEP_WARM_VLLM;
            default -> VLLM_CONNECTOR;
        };
    }

    /** Whether holds are requests of the prefix, and no calls that pin. */
    boolean soft() {
        return this != PIN_BLOCKS;
    }

    /** Whether something of a hold lasts that no call takes back. */
    boolean lasts() {
        return this == PRIORITY_TOUCH;
    }

    /** Whether something is protected that no call of a sidecar ends, so that it has to be counted until it is over. */
    boolean counts() {
        return lasts() || this == NIXL_LEASE;
    }

    boolean sessions() {
        return this == SESSION_HOLD;
    }
}
