package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Holds on a stock engine, by sessions. */
final class SessionHoldTest {
    private static final int[] PREFIX = EngineClient.prompt(1, 512);

    @TempDir
    Path state;

    @Test
    void hold_keepsThePrefixThroughAFlood_andItsEndLetsGo() {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: session_hold")) {
            bed.engine.generate(PREFIX);
            String id = bed.client.held(PREFIX);
            flood(bed.engine, 1000);
            assertThat(bed.engine.generate(PREFIX)).as("after the flood").isGreaterThanOrEqualTo(496);

            assertThat(bed.client.http.delete(SidecarClient.HOLDS + "/" + id).status())
                    .isEqualTo(200);
            flood(bed.engine, 2000);
            assertThat(bed.engine.generate(PREFIX)).as("let go").isZero();
        }
    }

    /** One after another: what runs together could fill the cache by itself, and such a hold is soft. */
    private static void flood(EngineClient engine, int from) {
        for (int i = 0; i < 24; i++) {
            engine.generate(EngineClient.prompt(from + i, 512));
        }
    }

    @Test
    void hold_byHashes_isRefusedWithWhatToSend() {
        try (TestBed bed = TestBed.with(
                TestBed.fast().withSglang(engine -> engine.withSessions(true)), state, "backend: session_hold")) {
            Http.Answer answer = bed.client.http.post(SidecarClient.HOLDS, "{\"leaseSeconds\":60,\"hashes\":[7]}");
            assertThat(answer.status()).isEqualTo(409);
            assertThat(answer.error()).contains("ask for it by its tokens");
        }
    }
}
