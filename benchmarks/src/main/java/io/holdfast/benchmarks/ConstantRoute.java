package io.holdfast.benchmarks;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.ext.web.Router;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;

/** A route that reads and parses the body of a query by tokens and answers a constant: what {@code /query} is compared with. */
public final class ConstantRoute {
    private static final JsonFactory JSON = JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();
    private static final Buffer ANSWER = Buffer.buffer(
            "{\"scores\":{\"main\":{\"0\":0}},\"instances\":{\"main\":{\"longest_matched\":0,\"gpu\":0,\"dp\":{\"0\":0},"
                + "\"cpu\":0,\"disk\":0}}}");

    private ConstantRoute() {}

    /** Serves on 127.0.0.1 at the port that it is given. */
    public static void main(String[] args) {
        Vertx vertx = Vertx.vertx();
        Router router = Router.router(vertx);
        router.post("/query")
                .handler(context -> context.request().body().onSuccess(body -> {
                    if (tokens(body.getBytes()).length == 0) {
                        throw new IllegalArgumentException("The body has no token_ids.");
                    }
                    context.response()
                            .putHeader("content-type", "application/json")
                            .end(ANSWER);
                }));
        vertx.createHttpServer(new HttpServerOptions().setHost("127.0.0.1").setPort(Integer.parseInt(args[0])))
                .requestHandler(router)
                .listen()
                .onSuccess(server -> System.out.println("constant route on " + server.actualPort()));
    }

    private static int[] tokens(byte[] body) {
        int[] tokens = new int[1024];
        int count = 0;
        try (JsonParser json = JSON.createParser(body)) {
            for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
                if (token == JsonToken.VALUE_NUMBER_INT) {
                    if (count == tokens.length) {
                        tokens = Arrays.copyOf(tokens, count << 1);
                    }
                    tokens[count++] = (int) json.getLongValue();
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Arrays.copyOf(tokens, count);
    }
}
