package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Someone who asks a sidecar for holds, on the engine {@code demo} unless another one is named. */
public final class SidecarClient implements AutoCloseable {
    public static final String HOLDS = "/api/v1/engines/demo/holds";

    public final Http http;
    private final String engine;

    public SidecarClient(URI sidecar) {
        this(sidecar, "demo");
    }

    public SidecarClient(URI sidecar, String engine) {
        this.engine = "/api/v1/engines/" + engine;
        http = new Http(sidecar);
    }

    public Http.Answer hold(int[] tokens, double leaseSeconds) {
        return http.post(
                engine + "/holds",
                new JsonObject()
                        .put("tokens", EngineClient.array(tokens))
                        .put("leaseSeconds", leaseSeconds)
                        .encode());
    }

    public Http.Answer hold(long[] hashes, double leaseSeconds) {
        return http.post(
                engine + "/holds",
                new JsonObject()
                        .put(
                                "hashes",
                                new JsonArray(LongStream.of(hashes).boxed().toList()))
                        .put("leaseSeconds", leaseSeconds)
                        .encode());
    }

    public JsonObject engine() {
        return http.get(engine).json();
    }

    public List<JsonObject> holds() {
        Http.Answer answer = http.get(engine + "/holds");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        JsonArray holds = answer.json().getJsonArray("holds");
        return IntStream.range(0, holds.size()).mapToObj(holds::getJsonObject).toList();
    }

    public JsonObject holdById(String id) {
        return http.get(engine + "/holds/" + id).json();
    }

    public Http.Answer release(String id) {
        return http.delete(engine + "/holds/" + id);
    }

    public JsonObject holdIn(String id, String state) {
        return Eventually.see(
                "hold " + id + " is " + state, () -> holdById(id), hold -> state.equals(hold.getString("state")));
    }

    /** Waits until the sidecar says that it can look after its engines. */
    public void ready() {
        Eventually.see("readyz is 200", () -> http.get("/readyz"), answer -> answer.status() == 200);
    }

    /**
     * Waits until the sidecar is ready and hears the engine, then empties the cache so that it knows all of it.
     *
     * <p>A subscription that has connected may still miss what is published in the same moment.
     */
    public void meet(EngineClient engine) {
        ready();
        hear(engine);
        assertThat(engine.flush()).isEqualTo(200);
        Eventually.see(
                "the cache is known to be empty",
                this::engine,
                seen -> seen.getBoolean("certain") && seen.getInteger("blocks") == 0);
    }

    /** Waits until the sidecar hears the engine, whether it is ready or not. */
    public void hear(EngineClient engine) {
        int[] number = {500_000};
        Eventually.see(
                "the sidecar hears what the engine stores",
                () -> {
                    engine.generate(EngineClient.prompt(number[0]++, 32));
                    return engine();
                },
                seen -> seen.getInteger("blocks") > 0);
    }

    /** Asks for a hold, waits until it is held, and answers its id. */
    public String held(int[] tokens) {
        Http.Answer answer = hold(tokens, 3600);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        String id = answer.json().getString("id");
        holdIn(id, "held");
        return id;
    }

    double metric(String line) {
        return http.get("/metrics")
                .text()
                .lines()
                .filter(each -> each.startsWith(line + " "))
                .mapToDouble(each -> Double.parseDouble(each.substring(line.length() + 1)))
                .findFirst()
                .orElse(Double.NaN);
    }

    @Override
    public void close() {
        http.close();
    }
}
