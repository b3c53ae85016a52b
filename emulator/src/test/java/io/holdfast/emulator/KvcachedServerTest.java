package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.testing.Segment;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.kvcached.KvcachedSettings.EngineTag;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Whole servers whose cache is in memory under kvcached. */
class KvcachedServerTest {
    private static final int[] PROMPT = Client.prompt(1, 180);

    @TempDir
    private Path directory = Path.of("");

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    @ParameterizedTest
    @EnumSource(EngineTag.class)
    void server_hasASegmentForEachLife_publishesNothing_andRemovesItWhenItIsClosed(EngineTag engine) {
        EmulatorSettings settings = settings(engine).withReplayPort(0);
        Segment segment = new Segment(directory.resolve("kvc_life"));
        try (Emulator emulator = Emulator.start(vertx, settings);
                Client client = new Client(emulator.uri())) {
            long atRest = segment.used();
            assertThat(complete(client)).isZero();
            assertThat(segment.used()).isGreaterThan(atRest);
            assertThat(complete(client)).isEqualTo(176);
            assertThat(replayed(emulator.replayEndpoint().orElseThrow())).isEqualTo(-1);

            segment.setLimit(1 << 28);
            emulator.restart();
            assertThat(segment.limit()).isEqualTo(memory(engine).startupBytes());
            assertThat(segment.used()).isEqualTo(atRest);
            assertThat(complete(client)).isZero();
        }
        assertThat(segment.file()).doesNotExist();
    }

    @Test
    void killedLife_leavesItsSegment() {
        Segment segment = new Segment(directory.resolve("kvc_life"));
        EmulatorSettings settings = settings(EngineTag.VLLM).withFaults(List.of(Fault.parse("restart=1,3600")));
        Emulator emulator = Emulator.start(vertx, settings);
        try (Client client = new Client(emulator.uri())) {
            complete(client);
            boolean alive = true;
            while (alive) {
                try {
                    client.get("/health");
                } catch (UncheckedIOException gone) {
                    alive = false;
                }
            }
            assertThat(segment.used()).isPositive();
        }
        emulator.close();
    }

    @Test
    void settingsThatDoNotFit_areRefusedWithOneSentence() {
        EmulatorSettings sglang = settings(EngineTag.SGLANG);
        assertThatThrownBy(() -> sglang.withKvcached(memory(EngineTag.VLLM)))
                .hasMessage(
                        "kvcached has to be set up for the engine that it serves, SGLANG with blocks of 16 tokens, and"
                                + " not for VLLM with blocks of 16 tokens.");
        assertThatThrownBy(() -> sglang.withSglang(settings -> settings.withHostRatio(2)))
                .hasMessage("kvcached does not work with a host tier; give hostRatio 0.");
        EmulatorSettings ranks = sglang.withFaults(List.of(Fault.parse("dp-ranks=2")));
        assertThatThrownBy(() -> Emulator.start(vertx, ranks))
                .isInstanceOf(EmulatorException.class)
                .hasMessage("A server with kvcached has one rank; leave out the fault dp-ranks.");
    }

    private EmulatorSettings settings(EngineTag engine) {
        EmulatorSettings.Kind kind = switch (engine) {
            case SGLANG -> new EmulatorSettings.Kind.Sglang(SglangSettings.defaults(), false);
            case VLLM -> new EmulatorSettings.Kind.Vllm(VllmSettings.defaults());
        };
        return EmulatorSettings.defaults().withKind(kind).withKvcached(memory(engine));
    }

    private KvcachedSettings memory(EngineTag engine) {
        return KvcachedSettings.of(engine, 256, 16).withDirectory(directory).withIpcName("kvc_life");
    }

    /** Cached tokens of the prompt, as either engine tells them. */
    private static int complete(Client client) {
        String body = new JsonObject()
                .put("prompt", Client.ids(PROMPT))
                .put("max_tokens", 1)
                .encode();
        return new JsonObject(client.post("/v1/completions", body).body())
                .getJsonObject("usage")
                .getJsonObject("prompt_tokens_details")
                .getInteger("cached_tokens");
    }

    /** The number of the first frame that a server has kept, -1 when there is none. */
    private static long replayed(String endpoint) {
        try (ZContext context = new ZContext()) {
            ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
            dealer.setHandshakeIvl(500);
            dealer.connect(endpoint);
            dealer.sendMore(new byte[0]);
            dealer.send(new byte[Long.BYTES]);
            dealer.recv();
            dealer.recv();
            return ByteBuffer.wrap(dealer.recv()).getLong();
        }
    }
}
