package io.holdfast.sidecar.look;

import io.holdfast.core.look.Finding;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.vllm.TensorRtReadings;
import java.util.Optional;

/**
 * Words for engines of one family: those that are always true of them, and what to do where something is missing, each
 * a part of a sentence.
 *
 * @param family as people write its name
 * @param proof warns of a family that was never run
 * @param holdsBy what a prefix can be named by, once the rule of its blocks' hashes is known
 * @param cacheReport tells whether answers have the cached tokens; absent where the engine itself reports that
 * @param events has it publish its events at the usual ports
 * @param release those that can be followed
 * @param metrics has it report its load
 * @param blockSize makes its blocks larger
 * @param prefixCache has it cache prefixes
 * @param hashes has it name blocks by a rule that is known
 */
record Mends(
        String family,
        Optional<Finding> proof,
        String holdsBy,
        Optional<Finding> cacheReport,
        String events,
        String release,
        String metrics,
        String blockSize,
        String prefixCache,
        String hashes) {
    private static final String TEXT_AND_TOKENS = "text and tokens";
    private static final String RELEASES = "use SGLang 0.5.9 or vLLM 0.9 or later";

    private static final Mends SGLANG = new Mends(
            "SGLang",
            Optional.empty(),
            TEXT_AND_TOKENS,
            Optional.empty(),
            "--kv-events-config '{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:5557\","
                    + "\"replay_endpoint\":\"tcp://*:5570\"}'",
            RELEASES,
            "--enable-metrics",
            "--page-size 16",
            "leave --disable-radix-cache out",
            "SGLang 0.5.6 or later");
    private static final Mends VLLM = new Mends(
            "vLLM",
            Optional.empty(),
            TEXT_AND_TOKENS,
            Optional.of(Finding.note(
                    "cache report",
                    "only with --enable-prompt-tokens-details answers say how many tokens were cached; vLLM does"
                            + " not report whether it runs with it")),
            "--kv-events-config '{\"enable_kv_cache_events\":true,\"publisher\":\"zmq\","
                    + "\"endpoint\":\"tcp://*:5557\",\"replay_endpoint\":\"tcp://*:5570\"}'",
            RELEASES,
            "leave --disable-log-stats out",
            "--block-size 16",
            "leave --no-enable-prefix-caching out",
            "PYTHONHASHSEED=0 … --prefix-caching-hash-algo sha256_cbor");
    private static final Mends TENSORRT_LLM = new Mends(
            "TensorRT-LLM",
            Optional.of(Finding.warning(
                    "proof",
                    "Holdfast was never run beside a real TensorRT-LLM: it goes by the engine's source and documents.",
                    "try it before you rely on it, with --try, and with backend: dry_run at first")),
            "tokens",
            Optional.of(Finding.ok("cache report", "answers say how many tokens were cached, by the engine's source")),
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
