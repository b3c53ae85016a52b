package io.holdfast.emulator.api.vllm;

import io.holdfast.emulator.api.ApiSettings;
import io.holdfast.emulator.api.MetricsPage;
import io.holdfast.emulator.api.Resources;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.rules.vllm.VllmSettings.Release;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Locale;

/** Report of a vLLM server about itself. */
final class VllmInfo {
    private final VllmSettings settings;
    private final ApiSettings server;

    VllmInfo(VllmSettings settings, ApiSettings server) {
        this.settings = settings;
        this.server = server;
    }

    static String version(VllmSettings settings) {
        return switch (settings.release()) {
            case V0_32 -> "0.32.0";
            case V0_22 -> "0.22.1";
            case TENSORRT_LLM -> "1.4.0";
        };
    }

    JsonObject models(double now) {
        JsonObject model = VllmResponse.SHAPES
                .of("model")
                .put("id", server.model())
                .put("created", (long) now)
                .put("root", server.model())
                .put("max_model_len", settings.contextTokens());
        model.getJsonArray("permission")
                .getJsonObject(0)
                .put("id", "modelperm-" + String.format(Locale.ROOT, "%016x", Model.mix(server.seed())))
                .put("created", (long) now);
        return new JsonObject().put("object", "list").put("data", JsonArray.of(model));
    }

    /** A few of the arguments that the real one tells, in its form: one long text. */
    JsonObject server() {
        String config = "model='" + server.model() + "', tokenizer='" + server.model() + "', max_seq_len="
                + settings.contextTokens() + ", tensor_parallel_size=1, pipeline_parallel_size=1, data_parallel_size=1,"
                + " kv_cache_dtype=auto, device_config=cpu, enable_prefix_caching=" + keepsPrefixes()
                + ", max_num_seqs="
                + settings.maxRunning() + ", max_num_batched_tokens=" + settings.maxBatchedTokens();
        return new JsonObject()
                .put("vllm_config", config)
                .put("vllm_env", new JsonObject().put("VLLM_SERVER_DEV_MODE", true))
                .put("system_env", new JsonObject());
    }

    private String keepsPrefixes() {
        return settings.keepsPrefixes() ? "True" : "False";
    }

    /** The labels of the metric that tells the cache's settings. */
    String cacheConfig() {
        String name = settings.release() == Release.V0_32 ? "0.32" : "0.22";
        long tokens = (long) settings.blocks() * settings.blockTokens();
        String concurrency = String.format(Locale.ROOT, "%.6g", (double) tokens / settings.contextTokens());
        return Resources.text(VllmInfo.class, "vllm_cache_config_" + name + ".txt")
                .strip()
                .replace("enable_prefix_caching=\"True\"", "enable_prefix_caching=\"" + keepsPrefixes() + "\"")
                .replace("@BLOCK@", Integer.toString(settings.blockTokens()))
                .replace("@BLOCKS@", Integer.toString(settings.blocks()))
                .replace("@TOKENS@", Long.toString(tokens))
                .replace("@CONCURRENCY@", MetricsPage.number(Double.parseDouble(concurrency)))
                .replace("@ALGORITHM@", settings.hashing().algorithm().name().toLowerCase(Locale.ROOT));
    }
}
