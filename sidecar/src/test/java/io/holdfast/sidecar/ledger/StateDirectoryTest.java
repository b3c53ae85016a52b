package io.holdfast.sidecar.ledger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import io.holdfast.core.pin.LedgerLine.Step;
import io.holdfast.embed.ledger.FileLedgerStore;
import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.sidecar.Eventually;
import io.holdfast.sidecar.PinnedEngine;
import io.holdfast.sidecar.SidecarClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.sidecar.ledger.LedgerState.Use;
import io.holdfast.sidecar.ledger.StateDirectory.Told;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A person looks at ledgers, and has them let go of, whoever has them. */
class StateDirectoryTest {
    private static final Told TOLD = told(Duration.ofSeconds(60));

    @TempDir
    Path state;

    private static Told told(Duration patience) {
        return new Told(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty(), patience);
    }

    private LedgerRelease release() {
        return StateDirectory.at(state).release("demo", TOLD);
    }

    @Test
    void ledgerOfADeadSidecar_isReleasedAtItsEngine() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            LedgerState shown = StateDirectory.at(state).ledger("demo");
            assertThat(shown.use()).isEqualTo(new Use.Nobody());
            assertThat(shown.engine().orElseThrow().address())
                    .isEqualTo("http://localhost:" + bed.gate.uri().getPort());
            assertThat(shown.pins()).singleElement().satisfies(pin -> {
                assertThat(pin.backend()).isEqualTo("pin_blocks");
                assertThat(pin.step()).isEqualTo(Step.PINNED);
                assertThat(pin.blocks()).isEqualTo(32);
                assertThat(pin.since()).isPresent();
            });

            LedgerRelease done = release();

            assertThat(done.released()).hasSize(1);
            assertThat(done.left()).isEmpty();
            assertThat(bed.engine.usedTokens()).isZero();
            assertThat(bed.outstanding()).isEmpty();
            assertThat(release().by()).isEqualTo("nobody, since nothing is listed");
        }
    }

    @Test
    void ledgerInUse_isShownAndReleasedByItsSidecar() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state);
                Sidecar sidecar = bed.sidecar("");
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(bed.engine);
            bed.engine.generate(PinnedEngine.PREFIX);
            client.held(PinnedEngine.PREFIX);
            LedgerState shown = Eventually.see(
                    "the pin is in the ledger",
                    () -> StateDirectory.at(state).ledger("demo"),
                    seen -> seen.pins().stream().anyMatch(pin -> pin.step() == Step.PINNED));
            assertThat(shown.use()).isEqualTo(new Use.Sidecar(Optional.of(sidecar.uri())));
            assertThat(shown.keptHolds()).isEqualTo(1);

            LedgerRelease done = release();

            assertThat(done.by()).isEqualTo("the sidecar at " + sidecar.uri());
            assertThat(done.released()).hasSize(1);
            assertThat(done.left()).isEmpty();
            assertThat(done.notes()).singleElement().asString().contains("/resume lifts that");
            assertThat(bed.engine.usedTokens()).isZero();
            assertThat(client.engine().getBoolean("paused")).isTrue();
            assertThat(StateDirectory.at(state).ledger("demo").paused()).isPresent();
        }
        assertThat(StateDirectory.at(state).ledger("demo").use()).isEqualTo(new Use.Nobody());
    }

    @Test
    void silentEngine_leavesAllAndSaysWhatToDo() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            bed.gate.shut();
            byte[] before = Files.readAllBytes(bed.ledgerFile());

            LedgerRelease done = release();

            assertThat(done.released()).isEmpty();
            assertThat(done.left())
                    .singleElement()
                    .satisfies(left ->
                            assertThat(left.why()).startsWith("the engine does not answer: Nothing listens at"));
            assertThat(done.mend().orElseThrow())
                    .startsWith("Start the engine and try again;")
                    .contains("delete " + bed.ledgerFile());
            assertThat(Files.readAllBytes(bed.ledgerFile())).isEqualTo(before);
        }
    }

    @Test
    void engineOfAnotherModel_isAskedNothing() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            bed.emulator.faults().begin(new ServerFault.OtherModel("other/model"));
            bed.emulator.restart();
            byte[] before = Files.readAllBytes(bed.ledgerFile());

            LedgerRelease done = release();

            assertThat(done.left())
                    .singleElement()
                    .satisfies(left -> assertThat(left.why())
                            .contains("it is a pin of the engine at")
                            .endsWith("with model other/model"));
            assertThat(Files.readAllBytes(bed.ledgerFile())).isEqualTo(before);
        }
    }

    @Test
    void sidecarThatRunsDry_isQuotedForWhatIsLeft() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            byte[] before = Files.readAllBytes(bed.ledgerFile());
            try (Sidecar dry = bed.sidecar("backend: dry_run");
                    SidecarClient client = new SidecarClient(dry.uri())) {
                client.hear(bed.engine);

                LedgerRelease done = release();

                assertThat(done.released()).isEmpty();
                assertThat(done.left()).hasSize(1);
                assertThat(done.mend().orElseThrow())
                        .startsWith("The sidecar says: 1 pins in the ledger were made by the backend pin_blocks");
                assertThat(bed.engine.usedTokens()).isEqualTo(512);
            }
            assertThat(Files.readAllBytes(bed.ledgerFile())).isEqualTo(before);

            String dry = TestBed.yaml(state, bed.gate.uri(), "backend: dry_run");
            StateDirectory configured = StateDirectory.of(SidecarConfig.parse(dry, "test.yaml"));
            assertThat(configured.ledger("demo").configured()).hasValue("dry_run");
            assertThat(configured.release("demo", TOLD).released()).hasSize(1);
            assertThat(bed.engine.usedTokens()).isZero();
        }
    }

    @Test
    void ledgerOfNoConfiguredEngine_isReleasedAllTheSame() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            bed.leaveAPin();
            String renamed = TestBed.yaml(state, bed.gate.uri(), "").replace("demo: {", "other: {");
            try (Sidecar running = Sidecar.start(bed.vertx, SidecarConfig.parse(renamed, "test.yaml"));
                    SidecarClient client = new SidecarClient(running.uri())) {
                Eventually.see(
                        "it is said that nobody releases them",
                        () -> client.http.get("/readyz").text(),
                        text -> text.contains("name it demo again and start once"));
                StateDirectory directory = StateDirectory.of(SidecarConfig.parse(renamed, "test.yaml"));
                assertThat(directory.stray("demo")).isTrue();

                assertThat(directory.release("demo", TOLD).released()).hasSize(1);

                assertThat(bed.engine.usedTokens()).isZero();
            }
        }
    }

    @Test
    void entriesThatMayNotBeAskedFor_stayAndSayWhy() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            write(bed, entry(Step.UNSURE, 1, "pin_blocks", "17"), entry(Step.KEPT, 2, "pin_blocks", "18"));

            LedgerRelease done = release();

            assertThat(done.released()).isEmpty();
            assertThat(done.left())
                    .extracting(LedgerRelease.Left::why)
                    .containsExactly("its last unpin had no clear answer", "an unpin could hurt the engine");
            assertThat(done.mend().orElseThrow()).startsWith("A sidecar closes them when the engine, at rest, shows");
        }
    }

    @Test
    void sessionThatMayStillOpen_isClosedNow_andAgain() throws IOException {
        try (PinnedEngine bed =
                new PinnedEngine(state, TestBed.fast().withSglang(engine -> engine.withSessions(true)))) {
            write(bed, entry(Step.PINNING, 1, "session_hold", "holdfast-a-1-0"));

            LedgerRelease done = StateDirectory.at(state).release("demo", told(Duration.ofSeconds(1)));

            assertThat(done.left())
                    .singleElement()
                    .satisfies(left -> assertThat(left.why()).isEqualTo("its pin may still arrive"));
            assertThat(bed.outstanding()).hasSize(1);
        }
    }

    @Test
    void whatNoCallTakesBack_staysAndSaysSo() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            for (Step step : new Step[] {Step.PINNED, Step.KEPT}) {
                write(bed, new Entry(step, 1, HoldOrigin.REQUESTED, "priority_touch", "7", 7, 32, "counts on"));

                LedgerRelease done = release();

                assertThat(done.left())
                        .singleElement()
                        .satisfies(left -> assertThat(left.why()).startsWith("it cannot be released"));
                assertThat(done.mend().orElseThrow()).startsWith("No call releases them");
                Files.delete(bed.ledgerFile());
            }
        }
    }

    @Test
    void backendThatIsNotKnown_isLeftAlone() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            write(bed, entry(Step.PINNED, 1, "pin_in_space", "x"));

            LedgerRelease done = release();

            assertThat(done.left())
                    .singleElement()
                    .satisfies(left -> assertThat(left.why()).isEqualTo("no backend pin_in_space is in use here"));
            assertThat(done.mend())
                    .hasValue("This version has no such backend: have the version that made these pins release them, or"
                            + " delete " + bed.ledgerFile() + " as soon as they are gone.");
        }
    }

    @Test
    void ledgerOfTheFirstVersion_needsTheConfiguration() throws IOException {
        try (PinnedEngine bed = PinnedEngine.start(state)) {
            Files.writeString(
                    bed.ledgerFile(),
                    "{\"step\":\"PINNED\",\"holdId\":7,\"origin\":\"REQUESTED\",\"lastBlock\":5,\"blocks\":3}\n");
            assertThat(StateDirectory.at(state).ledger("demo").pins().getFirst().since())
                    .isEmpty();
            assertThatThrownBy(this::release)
                    .isInstanceOf(SidecarException.class)
                    .hasMessageEndingWith("name the configuration with --config, which does.");

            StateDirectory configured = StateDirectory.of(TestBed.config(state, bed.gate.uri(), ""));
            assertThat(configured.release("demo", TOLD).released()).hasSize(1);
        }
    }

    @Test
    void whatIsNoLedger_isOneSentence() throws IOException {
        assertThatThrownBy(() -> StateDirectory.at(state.resolve("nosuch")))
                .hasMessageStartingWith("There is no state directory ");
        assertThatThrownBy(() -> StateDirectory.at(state).ledger("demo"))
                .hasMessage("There is no ledger of an engine 'demo' in " + state + "; there is none at all.");
        Files.writeString(state.resolve("demo.ledger"), "what\n");
        assertThatThrownBy(() -> StateDirectory.at(state).ledger("demo"))
                .isInstanceOf(SidecarException.class)
                .hasMessageStartingWith("Line 1 of the ledger ");
    }

    @Test
    void lockOfASidecarThatSaidNothing_asksForItsAddress() throws IOException {
        try (FileLedgerStore store = FileLedgerStore.open(state, "demo", LedgerFiles.SYSTEM)) {
            store.append(new Header(Header.VERSION, new EngineIdentity("http://a:1", "http://a:1", Optional.empty())));

            assertThat(StateDirectory.at(state).ledger("demo").use()).isEqualTo(new Use.Sidecar(Optional.empty()));
            assertThatThrownBy(this::release)
                    .isInstanceOf(SidecarException.class)
                    .hasMessageContaining("has not said where it serves; name that with --sidecar");
        }
    }

    private static Entry entry(Step step, long id, String backend, String handle) {
        return new Entry(step, id, HoldOrigin.REQUESTED, backend, handle, 17, 4, "");
    }

    private void write(PinnedEngine bed, Entry... entries) throws IOException {
        try (FileLedgerStore store = FileLedgerStore.open(state, "demo", LedgerFiles.SYSTEM)) {
            store.append(new Header(Header.VERSION, EngineAddress.identity(bed.gate.uri(), Optional.empty())));
            for (Entry entry : entries) {
                store.append(entry);
            }
        }
    }
}
