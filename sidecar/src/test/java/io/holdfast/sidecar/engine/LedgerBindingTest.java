package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.PinnedEngine;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Pins are released at the engine that has them, by the backend that made them, and nowhere else. */
class LedgerBindingTest {
    private static final int[] PREFIX = PinnedEngine.PREFIX;

    @TempDir
    Path state;

    @Test
    void dryRun_leavesEarlierPinsAlone_untilTheirBackendIsBack() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            byte[] before = Files.readAllBytes(bed.ledgerFile());

            try (Sidecar dry = bed.sidecar("backend: dry_run");
                    SidecarClient client = new SidecarClient(dry.uri())) {
                String said = Eventually.see(
                        "only the ledger is in the way",
                        () -> client.http.get("/readyz").text(),
                        text -> !text.contains("not known") && !text.contains("events"));
                assertThat(said)
                        .contains("1 pins of pin_blocks of an earlier run are left alone by dry_run: start once with"
                                + " backend: pin_blocks");
                bed.engine.generate(EngineClient.prompt(2, 64));
                assertThat(client.http.delete(SidecarClient.HOLDS).status()).isEqualTo(200);
                assertThat(bed.engine.usedTokens()).isEqualTo(512);
            }
            assertThat(Files.readAllBytes(bed.ledgerFile())).isEqualTo(before);

            try (Sidecar back = bed.sidecar("");
                    SidecarClient client = new SidecarClient(back.uri())) {
                client.ready();
                Eventually.see("the pin is taken back", bed.engine::usedTokens, used -> used == 0);
            }
        }
    }

    @Test
    void movedUrl_releasesNothingAndPinsNothing_untilItIsPutBack() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Emulator other = Emulator.start(bed.vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient otherEngine = new EngineClient(other.uri())) {
            bed.leaveAPin();
            byte[] before = Files.readAllBytes(bed.ledgerFile());

            try (Sidecar moved = Sidecar.start(bed.vertx, TestBed.config(state, other.uri(), ""));
                    SidecarClient client = new SidecarClient(moved.uri())) {
                String said = Eventually.see(
                        "readyz says whose pins they are",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("lists 1 pins of the engine at"));
                assertThat(said)
                        .contains("http://localhost:" + bed.gate.uri().getPort())
                        .contains("put that url back and start once")
                        .contains("delete " + bed.ledgerFile());
                client.hear(otherEngine);
                otherEngine.generate(PREFIX);
                Eventually.see("the prefix is known", client::engine, seen -> seen.getInteger("blocks") >= 34);
                client.hold(PREFIX, 600);
                assertThat(otherEngine.usedTokens()).isZero();
            }
            assertThat(bed.engine.usedTokens()).isEqualTo(512);
            assertThat(Files.readAllBytes(bed.ledgerFile())).isEqualTo(before);

            try (Sidecar back = bed.sidecar("");
                    SidecarClient client = new SidecarClient(back.uri())) {
                client.ready();
                Eventually.see("the pin is taken back", bed.engine::usedTokens, used -> used == 0);
            }
        }
    }

    @Test
    void longModelName_isCutInTheLedger_andStillReleased() throws IOException {
        EmulatorSettings named =
                TestBed.fast().withVariant(Variant.PIN_GPU).withModel("org/" + "\uD83D\uDE00".repeat(2_000));
        try (PinnedEngine bed = new PinnedEngine(state, named)) {
            bed.leaveAPin();
            assertThat(Files.size(bed.ledgerFile())).isLessThan(4_096);
            assertThat(read(bed.ledgerFile())).contains("org/", "4004 characters");

            try (Sidecar back = bed.sidecar("");
                    SidecarClient client = new SidecarClient(back.uri())) {
                client.ready();
                assertThat(bed.engine.usedTokens()).isZero();
            }
        }
    }

    @Test
    void pinsOfARenamedEngine_areSaid_untilTheIdIsBack() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            String renamed = TestBed.yaml(state, bed.gate.uri(), "").replace("demo: {", "other: {");

            try (Sidecar other = Sidecar.start(bed.vertx, SidecarConfig.parse(renamed, "test.yaml"));
                    SidecarClient client = new SidecarClient(other.uri())) {
                String said = Eventually.see(
                        "readyz says under which id the pins are",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("name it demo again and start once"));
                assertThat(said).contains("lists 1 pins of this engine under another id");
            }
            assertThat(bed.outstanding()).hasSize(1);

            try (Sidecar back = bed.sidecar("");
                    SidecarClient client = new SidecarClient(back.uri())) {
                client.ready();
                Eventually.see("the pin is taken back", bed.engine::usedTokens, used -> used == 0);
            }
        }
    }

    @Test
    void emptyLedger_belongsToWhoeverComesNext() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Emulator other = Emulator.start(bed.vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient otherEngine = new EngineClient(other.uri())) {
            bed.leaveAPin();
            try (Sidecar releasing = bed.sidecar("");
                    SidecarClient client = new SidecarClient(releasing.uri())) {
                client.ready();
            }

            try (Sidecar moved = Sidecar.start(bed.vertx, TestBed.config(state, other.uri(), ""));
                    SidecarClient client = new SidecarClient(moved.uri())) {
                client.meet(otherEngine);
                otherEngine.generate(PREFIX);
                client.held(PREFIX);
                assertThat(otherEngine.usedTokens()).isEqualTo(512);
            }
        }
    }

    @Test
    void engineThatRestartsWithAnotherModel_isHeldAgain() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            // Numbers high enough that those of the next life fall behind them.
            for (int i = 10; i < 20; i++) {
                bed.engine.generate(EngineClient.prompt(i, 64));
            }
            bed.engine.generate(PREFIX);
            String id = client.held(PREFIX);
            bed.emulator.faults().begin(new ServerFault.OtherModel("other/model"));

            bed.emulator.restart();
            int[] number = {50};
            Eventually.see(
                    "the hold is lost",
                    () -> {
                        bed.engine.generate(EngineClient.prompt(number[0]++, 64));
                        return client.holdById(id).getString("state");
                    },
                    "lost"::equals);
            client.meet(bed.engine);
            assertThat(client.holdIn(id, "released").getString("reason")).contains("it serves other/model now");
            bed.engine.generate(PREFIX);
            client.held(PREFIX);
            Eventually.see(
                    "the ledger has the new model", () -> read(bed.ledgerFile()), text -> text.contains("other/model"));
        }
    }

    @Test
    void otherSpellingOfOneUrl_isRefused() {
        for (String other : new String[] {
            "http://127.0.0.1:30000/", "HTTP://LocalHost:30000", "http://127.1.2.3:30000", "http://[::1]:30000"
        }) {
            assertThatThrownBy(() -> config("http://127.0.0.1:30000", other))
                    .as(other)
                    .isInstanceOf(ConfigException.class)
                    .hasMessageContaining("engines.b.url")
                    .hasMessageContaining("in whatever spelling");
        }
        assertThat(config("http://gpu-1", "http://gpu-1:8080").engines()).hasSize(2);
        assertThatThrownBy(() -> config("http://gpu-1", "http://gpu-1:80/")).isInstanceOf(ConfigException.class);
    }

    @Test
    void otherNameOfOneEngine_isRefusedAtTheStart() {
        Vertx vertx = Vertx.vertx();
        try {
            assertThatThrownBy(() -> Sidecar.start(vertx, config("http://127.0.0.1:9", "http://2130706433:9")))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageContaining("Engines a (http://127.0.0.1:9) and b (http://2130706433:9) are one")
                    .hasMessageMatching("[^\\n]+\\.");
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    @Test
    void spelling_isOneForOneUrl() {
        assertThat(EngineAddress.spelling(URI.create("HTTPS://Gpu-1.Example/v1/")))
                .isEqualTo("https://gpu-1.example:443/v1");
        assertThat(EngineAddress.resolved(URI.create("http://127.0.0.2:30000"))).isEqualTo("http://localhost:30000");
        assertThat(EngineAddress.resolved(URI.create("http://no-such-host.invalid:1")))
                .isEqualTo("http://no-such-host.invalid:1");
    }

    private SidecarConfig config(String one, String two) {
        return SidecarConfig.parse("""
            listen: {port: 0}
            stateDirectory: '%s'
            engines:
              a: {type: sglang, url: '%s'}
              b: {type: sglang, url: '%s'}
            """.formatted(state, one, two), "test.yaml");
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }
}
