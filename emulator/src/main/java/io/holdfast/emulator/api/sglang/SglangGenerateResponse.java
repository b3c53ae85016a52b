package io.holdfast.emulator.api.sglang;

import io.holdfast.emulator.api.Choice;
import io.holdfast.emulator.api.ResponseFormat;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.util.List;
import java.util.function.DoubleSupplier;

/**
 * SGLang's own form: each event repeats the answer from its beginning, with all that the engine knows of it.
 *
 * @param many whether the answers are told as a list
 * @param now the wall clock, in seconds
 */
record SglangGenerateResponse(boolean many, DoubleSupplier now) implements ResponseFormat {
    @Override
    public List<JsonObject> newEvents(Choice choice) {
        JsonObject event = body(choice, choice.chunks() == 0);
        return List.of(many ? event.put("index", choice.index()) : event);
    }

    @Override
    public List<JsonObject> closingEvents(List<Choice> choices) {
        return List.of();
    }

    @Override
    public String whole(List<Choice> choices) {
        if (!many) {
            return body(choices.getFirst(), true).encode();
        }
        JsonArray all = new JsonArray();
        choices.forEach(choice -> all.add(body(choice, true)));
        return all.encode();
    }

    @Override
    public JsonObject failure(String message) {
        return SglangErrors.plain(message);
    }

    /** @param sent whether this is the first that is sent; later ones repeat when that was, and only at the end */
    private JsonObject body(Choice choice, boolean sent) {
        Choice.Times times = choice.times();
        JsonObject meta = SglangResponse.SHAPES
                .of("meta")
                .put("id", choice.id())
                .put(
                        "finish_reason",
                        choice.end().map(end -> reason(end, choice)).orElse(null))
                .put("prompt_tokens", choice.promptTokens())
                .put("forward_entry_time", stamp(times.received()))
                .put("prefill_finished_time", stamp(times.first()))
                .put("completion_tokens", choice.said())
                .put("cached_tokens", choice.cached());
        if (choice.ended()) {
            meta.put("weight_versions", SglangResponse.weightVersions(choice));
        }
        meta.put("cached_tokens_details", choice.cached() == 0 ? null : SglangResponse.cacheDetails(choice))
                .putNull("dp_rank");
        if (choice.ended()) {
            meta.put("e2e_latency", times.last() - times.received())
                    .put("request_received_ts", stamp(times.received()))
                    .put("first_token_latency", times.first() - times.received())
                    .put("api_server_dispatch_finish_ts", stamp(times.received()));
            if (!sent) {
                meta.put("response_sent_to_client_ts", stamp(times.first()));
            }
            meta.put("request_finished_ts", stamp(times.last()));
            if (choice.said() > 1 && times.last() > times.first()) {
                meta.put("decode_throughput", (choice.said() - 1) / (times.last() - times.first()));
            }
        }
        if (sent) {
            meta.put("response_sent_to_client_ts", stamp(now.getAsDouble()));
        }
        return new JsonObject()
                .put("text", choice.text())
                .put("output_ids", new JsonArray(List.copyOf(choice.tokens())))
                .put("meta_info", meta);
    }

    /** Without an exponent. */
    private static BigDecimal stamp(double seconds) {
        BigDecimal exact = BigDecimal.valueOf(seconds);
        return exact.setScale(Math.max(1, exact.scale()));
    }

    private static JsonObject reason(Choice.End end, Choice choice) {
        JsonObject reason = new JsonObject().put("type", end.reason());
        return switch (end) {
            case Choice.End.Length _ -> reason.put("length", choice.tokens().size());
            case Choice.End.Stopped(Object matched) -> reason.put("matched", matched);
            case Choice.End.Aborted _ -> SglangResponse.SHAPES.of("abort");
        };
    }
}
