package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.events.EventSource;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.Subscription;
import io.holdfast.events.TensorRtBlockNames;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Events of an emulated TensorRT-LLM over sockets, against the names that its prompts have by the rule. */
class TensorRtIndexTest {
    private static final int BLOCK = 16;
    private static final int BLOCKS = 64;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    /** Blocks that are in the cache by the events alone. */
    private static final class Residents implements KvEventSink {
        private final Set<Long> blocks = new HashSet<>();
        private long removals;

        @Override
        public void stored(StoredBlocks stores) {
            for (int i = 0; i < stores.count(); i++) {
                blocks.add(stores.hash(i));
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            for (int i = from; i < to; i++) {
                assertThat(blocks.remove(hashes[i])).isTrue();
                removals++;
            }
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {}

        @Override
        public void cleared() {
            blocks.clear();
        }

        @Override
        public void batchEnded() {}

        @Override
        public void gap(Gap gap) {}

        @Override
        public void restarted(long seen) {}
    }

    @Test
    void whatTheEventsLeave_isWhatTheEngineFinds() {
        VllmSettings small = VllmSettings.defaults()
                .withSizes(BLOCKS + 1, BLOCK, 512)
                .withRelease(VllmSettings.Release.TENSORRT_LLM);
        try (Emulator emulator = Emulator.start(
                        vertx,
                        EmulatorSettings.defaults()
                                .withKind(new EmulatorSettings.Kind.Vllm(small))
                                .withEndpoints(new Endpoints(Endpoints.LOOPBACK, 0, 0, OptionalInt.of(0)))
                                .withPrefillMicrosPerToken(0)
                                .withFirstTokenMicros(0)
                                .withDecodeMillis(1));
                Http engine = new Http(emulator.uri());
                KvEventLoop loop = new KvEventLoop(System::nanoTime)) {
            for (int number = 0; number < 40; number++) {
                int _ = cached(engine, EngineClient.prompt(number, 5 * BLOCK + 1));
            }
            Residents residents = new Residents();
            EventSource source = new EventSource(
                    emulator.eventsEndpoint(),
                    Optional.of(emulator.replayEndpoint().orElseThrow()),
                    "",
                    1,
                    false);
            List<Subscription> caches = loop.subscribe(source, rank -> residents);
            long published = emulator.publishedBatches();
            while (caches.getFirst().replayedBatches() + caches.getFirst().received() < published) {
                loop.doWork(10);
            }

            assertThat(residents.removals).isPositive();
            int whole = 0;
            for (int number = 39; number >= 0; number--) {
                int[] prompt = EngineClient.prompt(number, 5 * BLOCK + 1);
                long[] names = TensorRtBlockNames.of(prompt, BLOCK);
                int known = 0;
                while (known < names.length && residents.blocks.contains(names[known])) {
                    known++;
                }
                if (known < names.length) {
                    // Whatever is sent now pushes others out; those before it were found as the events say.
                    assertThat(cached(engine, prompt)).isEqualTo(known * BLOCK);
                    break;
                }
                assertThat(cached(engine, prompt)).isEqualTo(names.length * BLOCK);
                whole++;
            }
            assertThat(whole).isPositive();
        }
    }

    private static int cached(Http engine, int[] prompt) {
        return engine.post(
                        "/v1/completions",
                        new JsonObject()
                                .put("model", EmulatorSettings.MODEL)
                                .put("prompt", EngineClient.array(prompt))
                                .put("max_tokens", 1)
                                .encode())
                .json()
                .getJsonObject("usage")
                .getJsonObject("prompt_tokens_details")
                .getInteger("cached_tokens");
    }
}
