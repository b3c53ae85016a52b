package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.fleet.Sidecar;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A dry run as the engine sees it, whatever it would be held by. */
final class DryRunTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;
    private static final String DRY_RUN = "/api/v1/engines/demo/dry-run";

    @TempDir
    Path state;

    private final List<EngineRelay> relays = new ArrayList<>();

    @AfterEach
    void close() {
        relays.forEach(EngineRelay::close);
    }

    private URI behindARelay(URI engine) {
        relays.add(new EngineRelay(engine));
        return relays.getLast().uri();
    }

    @ParameterizedTest
    @ValueSource(strings = {"pin_blocks", "session_hold", "keep_warm"})
    void dryRun_asksTheEngineForNothing_untilItEnds(String backend) throws IOException {
        try (PinnedEngine bed = new PinnedEngine(
                        state,
                        "pin_blocks".equals(backend)
                                ? TestBed.fast().withVariant(Variant.PIN_GPU)
                                : TestBed.fast().withSglang(each -> each.withSessions(true)),
                        this::behindARelay);
                Sidecar sidecar = bed.sidecar("backend: " + backend);
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);

            assertThat(client.http.send("PUT", DRY_RUN, "{\"dryRun\":true}").status())
                    .isEqualTo(200);
            Eventually.see(
                    "what was held is let go of, and would be held",
                    () -> client.holdById(id),
                    hold -> "requested".equals(hold.getString("state"))
                            && hold.getString("reason").startsWith("decided, and not asked of the engine: dry run"));
            int before = relays.getLast().calls().size();
            flood(bed.engine, client, 1_000);
            bed.engine.generate(PREFIX);
            flood(bed.engine, client, 2_000);
            assertThat(acts(before)).isEmpty();
            assertThat(bed.engine.generate(PREFIX)).as("kept by nobody").isZero();

            assertThat(client.http.send("PUT", DRY_RUN, "{\"dryRun\":false}").status())
                    .isEqualTo(200);
            int[] number = {3_000};
            Eventually.see(
                    "it is held again, by what the engine is asked for",
                    () -> {
                        bed.engine.generate(PREFIX);
                        bed.engine.generate(EngineClient.prompt(number[0]++, 512));
                        return acts(before);
                    },
                    acts -> !acts.isEmpty());
            client.holdIn(id, "held");
        }
    }

    /** What was asked of the engine since then beside its numbers. */
    private List<String> acts(int since) {
        List<String> calls = List.copyOf(relays.getLast().calls());
        return calls.subList(since, calls.size()).stream()
                .filter(call -> !call.startsWith("GET "))
                .toList();
    }

    /** More than the cache has room for, and what the sidecar makes of it. */
    private static void flood(EngineClient engine, SidecarClient client, int from) {
        for (int i = 0; i < 24; i++) {
            engine.generate(EngineClient.prompt(from + i, 512));
        }
        client.hear(engine);
    }
}
