package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.evidence.CacheProof.Answer;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.testing.SteadyClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.testing.StubHolder;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.IdlePrefixFlood;
import io.holdfast.loadtest.workload.Workload;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole runs against a server that can be told to misbehave. */
final class LoadTestRunTest {
    private static final Workload WORKLOAD = IdlePrefixFlood.workload(1, new FloodShape(64, 8, 3, 80, 1, 1, 1, 1));

    private final Vertx vertx = Vertx.vertx();
    private final StubEngine engine = StubEngine.start(vertx, 64);
    private final StubHolder holder = new StubHolder(engine);
    private final List<Progress.Event> events = new ArrayList<>();
    private int restarts;

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() throws Exception {
        engine.close();
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void run_followsItsSeededPlan() {
        Result result = run(settings().rounds(2).build());
        List<PairOrder> lives = result.header().plan().lives();
        assertThat(lives).hasSize(6);
        assertThat(result.legs())
                .extracting(leg -> leg.life() + " " + leg.order() + " " + leg.position())
                .containsExactlyElementsOf(planned(lives));
        assertThat(restarts).isEqualTo(6);
        assertThat(result.seed()).isEqualTo(42);
        assertThat(result.workloadId()).isEqualTo(WORKLOAD.id());
    }

    @Test
    void everyBaselineLeg_callsItsShamAndEveryPinnedLegItsHold() {
        Result result = run(settings().rounds(1).build());
        long pinned =
                result.legs().stream().filter(leg -> leg.arm() == Arm.PINNED).count();
        long baseline = result.legs().size() - pinned;
        assertThat(pinned).isEqualTo(2);
        assertThat(count("off")).isEqualTo(baseline);
        assertThat(count("sham release")).isEqualTo(baseline);
        assertThat(count("on 64")).isEqualTo(pinned);
        assertThat(count("release 1")).isEqualTo(pinned);
    }

    @Test
    void result_isWhatTheJournalHolds() {
        // Half of a surrogate pair cannot be written as text: only a result read back shows what was written for it.
        Result result = run(settings().burnIn(false).rounds(1).build(), new StubHolder(engine) {
            @Override
            public HoldReceipt off(Prefixes prefixes, Duration within) {
                return HoldReceipt.sham("\uD800");
            }
        });
        assertThat(result.legs().getFirst().hold().reason()).isEqualTo("?");
        assertThat(Analysis.of(folder.resolve("run.jsonl"))).isEqualTo(result);
    }

    @Test
    void progress_tellsOfEveryLifeAndLeg() {
        Result result = run(settings().rounds(1).rehearsal(true).build());
        assertThat(events.getFirst()).isInstanceOf(Progress.LifeStarted.class);
        assertThat(events.stream().filter(Progress.LifeStarted.class::isInstance))
                .hasSize(4);
        assertThat(events.stream().filter(Progress.LegFinished.class::isInstance))
                .hasSize(12);
        assertThat(events.stream().filter(Progress.RunStarted.class::isInstance).map(Progress.RunStarted.class::cast))
                .singleElement()
                .satisfies(started -> assertThat(started.left()).isPresent())
                .satisfies(started -> assertThat(started.legs()).isEqualTo(9));
        assertThat(events.getLast()).isEqualTo(new Progress.RunFinished(result));
    }

    @Test
    void rehearsal_isLifeZeroTakesBothArmsAndDoesNotCount() {
        Result result = run(settings().rounds(1).rehearsal(true).build());
        List<LegRecord> rehearsal =
                result.legs().stream().filter(leg -> leg.life() == 0).toList();
        assertThat(rehearsal).extracting(LegRecord::arm).containsExactly(Arm.BASELINE, Arm.BASELINE, Arm.PINNED);
        assertThat(result.baseline().legs() + result.pinned().legs()).isEqualTo(6);
        assertThat(restarts).isEqualTo(4);
    }

    @Test
    void withoutBurnIn_aLifeHasTwoLegs() {
        assertThat(run(settings().rounds(1).burnIn(false).build()).legs())
                .hasSize(6)
                .allMatch(LegRecord::isMeasured);
    }

    @Test
    void cachedTokens_proveExposureAndMechanism() {
        Result result = run(settings().burnIn(false).rounds(2).build());
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.YES);
        assertThat(result.cacheProof().kept()).isEqualTo(Answer.YES);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.pinned().cachedTokens()).hasValue(64);
        assertThat(result.verdict().finding()).isNotEqualTo(Finding.INVALID);
    }

    @Test
    void engineThatDoesNotTellCachedTokens_leavesTheProofUnknown() {
        engine.answers = body -> StubEngine.stream(3, 1, OptionalInt.empty());
        Result result = run(settings().burnIn(false).rounds(1).build());
        assertThat(result.cacheProof().exposed()).isEqualTo(Answer.UNKNOWN);
        assertThat(result.baseline().cachedTokens()).isEmpty();
    }

    @Test
    void refusedHold_isInvalidInTheHoldersWordsAndEndsTheRun() {
        Result result = run(settings().build(), new StubHolder(engine) {
            @Override
            public HoldReceipt on(Prefixes prefixes, Duration within) {
                return HoldReceipt.notHeld("", 4, "the budget is used up");
            }
        });
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("the budget is used up");
        assertThat(result.legs().getLast().arm()).isEqualTo(Arm.PINNED);
        assertThat(Analysis.of(folder.resolve("run.jsonl")).verdict()).isEqualTo(result.verdict());
    }

    @Test
    void holderThatSkipsItsSham_isInvalid() {
        Result result = run(settings().build(), new StubHolder(engine) {
            @Override
            public HoldReceipt off(Prefixes prefixes, Duration within) {
                return HoldReceipt.skipped("not in the mood");
            }
        });
        assertThat(result.verdict().finding()).isEqualTo(Finding.INVALID);
        assertThat(result.verdict().reason()).contains("sham").contains("not in the mood");
    }

    @Test
    void emptyAnswers_areInvalid() {
        engine.answers = body -> body.path("input_ids").size() == 80
                ? StubEngine.events("data: [DONE]\n\n")
                : StubEngine.stream(3, 1, OptionalInt.of(0));
        assertThat(run(settings().build()).verdict().reason()).contains("without any output");
    }

    @Test
    void engineThatIsNotRestarted_isWarnedAbout() {
        Result result = run(settings().burnIn(false).rounds(1).build(), holder, new ExistingServer(engine.uri()));
        assertThat(result.header().freshLives()).isFalse();
        assertThat(result.warnings()).anyMatch(warning -> warning.contains("was not restarted"));
    }

    /** By the client's count it is too small a flood; the server counts otherwise, and lost the prefix. */
    @Test
    void floodThatPushedThePrefixOut_isNotWarnedAbout() {
        engine.serverInfo = "{\"page_size\":16,\"max_total_num_tokens\":243}";
        Result result = run(settings().burnIn(false).rounds(1).build());
        assertThat(result.header().workload().pressureTokens()).isEqualTo(243);
        assertThat(result.warnings()).isEmpty();
    }

    /** As large as the cache is not larger, and nothing was lost by it. */
    @Test
    void floodThatPushedNothingOut_isWarnedAbout() {
        engine.serverInfo = "{\"page_size\":16,\"max_total_num_tokens\":243}";
        Result result = run(settings().burnIn(false).rounds(1).build(), new StubHolder(engine) {
            @Override
            public HoldReceipt off(Prefixes prefixes, Duration within) {
                engine.held = true;
                return super.off(prefixes, within);
            }
        });
        assertThat(result.warnings())
                .contains("A flood of 243 tokens does not exceed the cache of 243, so the baseline can hardly lose its"
                        + " prefix; make the flood larger.");
    }

    @Test
    void unknownPageSize_isWarnedAbout() {
        engine.serverInfo = "{}";
        assertThat(run(settings().burnIn(false).rounds(1).build()).warnings())
                .anyMatch(warning -> warning.contains("does not report its page size"));
    }

    @Test
    void requestLargerThanTheEngineTakes_isRefusedBeforeAnyLeg() {
        engine.serverInfo = "{\"page_size\":16,\"max_req_input_len\":70}";
        assertThatThrownBy(() -> run(settings().build()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("has 81 tokens with its output, but the engine takes at most 70");
        assertThat(folder.resolve("run.jsonl")).doesNotExist();
    }

    @Test
    void prefixOfOnePage_isRefused() {
        engine.serverInfo = "{\"page_size\":64}";
        assertThatThrownBy(() -> run(settings().build())).hasMessageContaining("not longer than one page");
    }

    @Test
    void existingJournal_isRefusedBeforeTheEngineIsTouched() throws IOException {
        Files.createFile(folder.resolve("run.jsonl"));
        assertThatThrownBy(() -> run(settings().build())).hasMessageContaining("exists already");
        assertThat(restarts).isZero();
        assertThat(engine.paths).isEmpty();
    }

    @Test
    void nobodyAtTheAddress_isOneSentenceAtOnce() throws IOException {
        URI nobody;
        try (ServerSocket socket = new ServerSocket(0)) {
            nobody = URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }
        assertThatThrownBy(() -> run(settings().build(), holder, new ExistingServer(nobody)))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The engine at " + nobody
                        + " is not ready: it does not answer; check that it runs and that the address is right.");
    }

    @Test
    void eventLoop_isNoPlaceForALoadTest() throws Exception {
        CompletableFuture<Throwable> thrown = new CompletableFuture<>();
        vertx.runOnContext(ignored -> {
            try {
                run(settings().build());
                thrown.complete(new AssertionError("it ran"));
            } catch (RuntimeException e) {
                thrown.complete(e);
            }
        });
        assertThat(thrown.get(10, TimeUnit.SECONDS)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void connections_areGoneAfterTheRun() {
        run(settings().burnIn(false).rounds(1).build());
        assertThat(engine.connections.get()).isGreaterThan(settings().build().concurrency());
        assertThat(engine.closeOfAllConnections()).succeedsWithin(Duration.ofSeconds(30));
    }

    private static List<String> planned(List<PairOrder> lives) {
        List<String> planned = new ArrayList<>();
        for (int life = 1; life <= lives.size(); life++) {
            for (int position = 0; position <= 2; position++) {
                planned.add(life + " " + lives.get(life - 1) + " " + position);
            }
        }
        return planned;
    }

    private long count(String call) {
        return holder.calls.stream().filter(call::equals).count();
    }

    private static LoadTestPlan.Builder settings() {
        return LoadTestPlan.defaults().toBuilder()
                .concurrency(2)
                .holdSlot(Duration.ofMillis(100))
                .slotTolerance(Duration.ofSeconds(10));
    }

    private Result run(LoadTestPlan settings) {
        return run(settings, holder);
    }

    private Result run(LoadTestPlan settings, ArmSwitch with) {
        ServerUnit unit = new ServerUnit() {
            @Override
            public URI uri() {
                return engine.uri();
            }

            @Override
            public void restart() {
                restarts++;
            }
        };
        return run(settings, with, unit);
    }

    private Result run(LoadTestPlan settings, ArmSwitch with, ServerUnit unit) {
        RunClock clock = new SteadyClock();
        try (HttpEngine tested = new HttpEngine(vertx, unit, HttpSettings.defaults(), clock)) {
            return LoadTestRun.run(
                    new RunEnvironment(tested, with, clock),
                    WORKLOAD,
                    settings,
                    folder.resolve("run.jsonl"),
                    events::add);
        }
    }
}
