package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds on a stock engine, by streaming sessions. */
final class StreamingSessionTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);
    private static final int[] REQUEST = EngineClient.prompt(1, 513);

    @TempDir
    Path state;

    private TestBed bed(String keys) {
        return TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withStreaming(true)),
                state,
                "backend: streaming_session" + keys);
    }

    @Test
    void hold_keepsThePrefixThroughBurstsLargerThanTheCache_andItsEndLetsGo() {
        try (TestBed bed = bed("")) {
            bed.engine.generate(PREFIX);
            String id = bed.client.held(PREFIX);
            burst(bed.engine, 1000);
            assertThat(bed.engine.generate(REQUEST)).as("after the burst").isEqualTo(512);

            assertThat(bed.client.http.delete(SidecarClient.HOLDS + "/" + id).status())
                    .isEqualTo(200);
            burst(bed.engine, 2000);
            assertThat(bed.engine.generate(REQUEST)).as("let go").isZero();
        }
    }

    @Test
    void holdOfWhatIsNotCached_isStoredFirst() {
        try (TestBed bed = bed(", priming: true")) {
            bed.client.held(PREFIX);
            burst(bed.engine, 1000);
            assertThat(bed.engine.generate(REQUEST)).isEqualTo(512);
        }
    }

    @Test
    void sessions_takeMemory_soTheGuardHasTheLastWord_andAutomaticHoldsAreOff() {
        try (TestBed bed = bed("")) {
            JsonObject engine = bed.client.http.get("/api/v1/engines/demo").json();
            assertThat(engine.getJsonObject("backend").getString("name")).isEqualTo("streaming_session");
            assertThat(engine.encode()).contains("\"automaticHolds\":false");
        }
    }

    /** All at once: nothing but a lock survives that. */
    private static void burst(EngineClient engine, int from) {
        IntStream.range(0, 30)
                .mapToObj(i -> engine.generateLater(EngineClient.prompt(from + i, 512), 1))
                .toList()
                .forEach(answer -> assertThat(answer.join().status()).isEqualTo(200));
    }
}
