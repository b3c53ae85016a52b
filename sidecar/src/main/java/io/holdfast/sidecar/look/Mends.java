package io.holdfast.sidecar.look;

import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.vllm.TensorRtReadings;

/**
 * What to do at an engine of one family where something is missing, each a part of a sentence.
 *
 * @param events has it publish its events at the usual ports
 * @param release those that can be followed
 * @param metrics has it report its load
 * @param blockSize makes its blocks larger
 * @param prefixCache has it cache prefixes
 * @param hashes has it name blocks by a rule that is known
 */
record Mends(String events, String release, String metrics, String blockSize, String prefixCache, String hashes) {
    private static final String RELEASES = "use SGLang 0.5.9 or vLLM 0.9 or later";

    private static final Mends SGLANG = new Mends(
            "--kv-events-config '{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\","
                    + "\"replay_endpoint\":\"tcp://*:5570\"}'",
            RELEASES,
            "--enable-metrics",
            "--page-size 16",
            "leave --disable-radix-cache out",
            "SGLang 0.5.6 or later");
    private static final Mends VLLM = new Mends(
            "--kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
                    + "\"endpoint\":\"tcp://*:5557\",\"replay_endpoint\":\"tcp://*:5570\"}'",
            RELEASES,
            "leave --disable-log-stats out",
            "--block-size 16",
            "leave --no-enable-prefix-caching out",
            "PYTHONHASHSEED=0 … --prefix-caching-hash-algo sha256_cbor");
    private static final Mends TENSORRT_LLM = new Mends(
            "kv_cache_config: {use_kv_cache_manager_v2: true, kv_events_config: {enable_kv_cache_events: true,"
                    + " endpoint: \"tcp://*:5557\", replay_endpoint: \"tcp://*:5570\"}} in its --config",
            "use TensorRT-LLM 1.3 or later",
            TensorRtReadings.FLAGS,
            "kv_cache_config.tokens_per_block: 32 in its --config",
            "kv_cache_config.enable_block_reuse: true in its --config",
            "report its version, and hold by example meanwhile");

    static Mends of(EngineType type) {
        return switch (type) {
            case SGLANG -> SGLANG;
            case VLLM -> VLLM;
            case TENSORRT_LLM -> TENSORRT_LLM;
        };
    }
}
