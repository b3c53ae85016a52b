package io.holdfast.emulator.api;

import io.holdfast.emulator.engine.TokenListener;
import io.vertx.core.Context;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.json.JsonObject;

/**
 * Brings an answer from the engine's thread to one client, on the connection's context.
 *
 * <p>A client that reads slowly gets larger chunks instead of more of them: tokens wait here while its socket is full, and
 * the engine never waits for it.
 */
final class AnswerWriter implements TokenListener {
    private final Context context;
    private final HttpServerResponse response;
    private final AnswerShape shape;
    private final Answer answer;
    private final boolean stream;
    private int told;

    AnswerWriter(Context context, HttpServerResponse response, AnswerShape shape, Answer answer, boolean stream) {
        this.context = context;
        this.response = response;
        this.shape = shape;
        this.answer = answer;
        this.stream = stream;
    }

    @Override
    public void token(int token, int count, int cachedTokens, boolean last) {
        context.runOnContext(_ -> {
            answer.add(token, cachedTokens, last);
            if (stream) {
                stream();
            } else if (last && open()) {
                SglangApi.json(response, 200, shape.whole(answer));
            }
        });
    }

    @Override
    public void failed(String message) {
        context.runOnContext(_ -> {
            if (!open()) {
                return;
            }
            JsonObject error = SglangApi.error(500, "InternalServerError", message);
            if (response.headWritten()) {
                response.write(event(new JsonObject().put("error", error).encode()));
                response.end(event("[DONE]"));
            } else {
                SglangApi.json(response, 500, error);
            }
        });
    }

    private void stream() {
        if (!open() || told == answer.tokens().size()) {
            return;
        }
        if (response.headWritten() && response.writeQueueFull()) {
            response.drainHandler(_ -> stream());
            return;
        }
        if (!response.headWritten()) {
            response.setChunked(true).putHeader(HttpHeaders.CONTENT_TYPE, "text/event-stream; charset=utf-8");
        }
        StringBuilder events = new StringBuilder();
        for (JsonObject chunk : shape.chunks(answer, told)) {
            events.append(event(chunk.encode()));
        }
        told = answer.tokens().size();
        if (answer.done()) {
            response.end(events.append(event("[DONE]")).toString());
        } else {
            response.write(events.toString());
        }
    }

    private boolean open() {
        return !response.ended() && !response.closed();
    }

    private static String event(String data) {
        return "data: " + data + "\n\n";
    }
}
