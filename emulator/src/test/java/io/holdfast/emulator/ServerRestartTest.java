package io.holdfast.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** Servers that end and begin again, seen by a client that was told nothing. */
class ServerRestartTest {
    private static final int[] PROMPT = Client.prompt(1, 48);

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void closeVertx() {
        vertx.close().await();
    }

    private static EmulatorSettings with(String... faults) {
        return EmulatorSettings.defaults()
                .withFaults(List.of(faults).stream().map(Fault::parse).toList());
    }

    @Test
    void restart_losesTheCacheAndKeepsThePorts() {
        try (Emulator emulator =
                        Emulator.start(vertx, EmulatorSettings.defaults().withReplayPort(0));
                Client client = new Client(emulator.uri())) {
            URI before = emulator.uri();
            client.cachedTokens(PROMPT);
            assertThat(client.cachedTokens(PROMPT)).isEqualTo(32);
            emulator.restart();
            assertThat(emulator.uri()).isEqualTo(before);
            assertThat(client.cachedTokens(PROMPT)).isZero();
            assertThat(lastSequence(emulator.replayEndpoint().orElseThrow()))
                    .as("the clear of a life is number 0, the store is 1")
                    .isEqualTo(1);
        }
    }

    @Test
    void restartFault_comesAfterSoManyRequests_andTheServerIsThereAgain() {
        try (Emulator emulator = Emulator.start(vertx, with("restart=2,0"));
                Client client = new Client(emulator.uri())) {
            client.cachedTokens(PROMPT);
            client.cachedTokens(PROMPT);
            awaitThat(() -> cachedOrGone(client) == 0);
        }
    }

    @Test
    void otherModelFault_changesTheNameWithTheNextLife() {
        try (Emulator emulator = Emulator.start(vertx, with("other-model=llama-next"));
                Client client = new Client(emulator.uri())) {
            assertThat(client.get("/v1/models").body()).contains("\"holdfast-emulated\"");
            emulator.restart();
            assertThat(client.get("/v1/models").body()).contains("\"llama-next\"");
        }
    }

    @Test
    void dpRanksFault_givesEachRankACacheAndEventsOfItsOwn() {
        try (Emulator emulator = Emulator.start(vertx, with("dp-ranks=2"));
                Client client = new Client(emulator.uri());
                ZContext context = new ZContext()) {
            assertThat(client.get("/server_info").body()).contains("\"dp_size\":2");
            ZMQ.Socket second = context.createSocket(SocketType.SUB);
            second.setHandshakeIvl(500);
            second.setReceiveTimeOut(50);
            second.subscribe(new byte[0]);
            int port = URI.create(emulator.eventsEndpoint()).getPort();
            second.connect("tcp://127.0.0.1:" + (port + 1));
            awaitThat(() -> {
                client.post("/flush_cache", "");
                return second.recv() != null;
            });
            assertThat(client.cachedTokens(PROMPT)).isZero();
            assertThat(client.cachedTokens(PROMPT))
                    .as("the other rank does not have it")
                    .isZero();
            assertThat(client.cachedTokens(PROMPT)).isEqualTo(32);
        }
    }

    @Test
    void slowStartFault_nobodyListensAtFirst() {
        try (Emulator emulator = Emulator.start(vertx, with("slow-start=3600"));
                Client client = new Client(emulator.uri())) {
            assertThatThrownBy(() -> client.get("/health")).isInstanceOf(UncheckedIOException.class);
        }
    }

    @Test
    void slowStartFault_onceItIsOver_serves() {
        try (Emulator emulator = Emulator.start(vertx, with("slow-start=1"));
                Client client = new Client(emulator.uri())) {
            awaitThat(() -> cachedOrGone(client) >= 0);
        }
    }

    @Test
    void script_beginsAndEndsFaultsAndRestarts() {
        Script script = Script.parse(List.of(
                "# a rehearsal",
                "at 0 begin http-error=100,503",
                "",
                "at 0.2 end http-error   # served again",
                "at 0.4 restart",
                "# for a machine so busy that nobody asked before",
                "at 2 restart",
                "at 8 restart",
                "at 30 restart"));
        try (Emulator emulator =
                        Emulator.start(vertx, EmulatorSettings.defaults().withScript(script));
                Client client = new Client(emulator.uri())) {
            awaitThat(() -> cachedOrGone(client) == 32);
            awaitThat(() -> cachedOrGone(client) == 0);
        }
    }

    @Test
    void vllm_isServedAsWell() {
        EmulatorSettings settings =
                EmulatorSettings.defaults().withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()));
        try (Emulator emulator = Emulator.start(vertx, settings);
                Client client = new Client(emulator.uri())) {
            assertThat(client.get("/version").body()).isEqualTo("{\"version\":\"0.32.0\"}");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "restart|\"restart\" is none of \"at SECONDS begin FAULT\"",
                "at x restart|is none of",
                "at 1 stop|\"stop\" is none of begin, end and restart.",
                "at 1 restart now|restart stands alone, without \"now\".",
                "at 1 begin|begin wants a fault; --list-faults shows them all.",
                "at 1 end nosuch|There is no fault \"nosuch\"; there are",
                "at 1 begin throttling=7|The fault throttling"
            })
    void script_thatCannotBeRead_isOneSentenceThatNamesItsLine(String line, String sentence) {
        assertThatThrownBy(() -> Script.parse(List.of("at 1 restart", line)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("Line 2 of the script: ")
                .hasMessageContaining(sentence);
    }

    /** What was cached of the prompt; -1 while the server is away, cuts the answer off or refuses it. */
    private static int cachedOrGone(Client client) {
        try {
            return client.cachedTokens(PROMPT);
        } catch (UncheckedIOException | NullPointerException | IllegalStateException gone) {
            return -1;
        }
    }

    private static long lastSequence(String replay) {
        try (ZContext context = new ZContext()) {
            ZMQ.Socket dealer = context.createSocket(SocketType.DEALER);
            dealer.setHandshakeIvl(500);
            dealer.connect(replay);
            dealer.sendMore(new byte[0]);
            dealer.send(new byte[Long.BYTES]);
            long last = -1;
            while (true) {
                dealer.recv();
                dealer.recv();
                long sequence = ByteBuffer.wrap(dealer.recv()).getLong();
                dealer.recv();
                if (sequence < 0) {
                    return last;
                }
                last = sequence;
            }
        }
    }

    private static void awaitThat(BooleanSupplier condition) {
        while (!condition.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }
}
