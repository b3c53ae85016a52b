package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.ResultFile;
import io.holdfast.loadtest.run.ChangedAnswers;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.Profile;
import io.holdfast.rules.vllm.Rates;
import io.holdfast.rules.vllm.Stage;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import io.holdfast.workbench.matrix.LegVerdict.Word;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CacheMatrixTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int GPU = 4_096;

    /** With a lower tier of four times the GPU's. */
    private static final SglangSettings TIERED =
            SglangSettings.defaults().withSizes(GPU, 16, 4_096).withHostRatio(4);

    @TempDir
    private Path folder = Path.of("");

    @Test
    void usualPlan_has204LegsOfThreeParts() {
        MatrixAxes axes = MatrixAxes.usual();
        assertThat(axes.text()).isEqualTo("""
            batch 1: 3 states x 2 ways x 6 lengths x 3 passes = 108
            batch 2: 3 states x 2 ways x 5 lengths x 3 passes = 90
            two users: 2 modes x 1 length x 3 passes = 6
            108 + 90 + 6 = 204 legs\
            """);
        assertThat(MatrixAxes.total(List.of(198, 6))).isEqualTo("198 + 6 = 204");
        assertThat(axes.answer()).isEqualTo(64);
        assertThat(axes.passes()).isEqualTo(3);
    }

    @Test
    void idsOfAllLegs_areDistinctAndReadBackTheSame() {
        List<MatrixLeg> legs = MatrixAxes.usual().legs();
        assertThat(legs).hasSize(198).doesNotHaveDuplicates();
        assertThat(legs).allSatisfy(leg -> assertThat(MatrixLeg.of(leg.id())).hasValue(leg));
        assertThat(legs)
                .extracting(MatrixLeg::id)
                .contains("b2/warm/streaming/1024tok/pass1")
                .doesNotHaveDuplicates();
        assertThat(MatrixLeg.of("staggered/batched/4096tok/pass1")).isEmpty();
        assertThat(MatrixLeg.of("b2/tepid/streaming/1024tok/pass1")).isEmpty();
    }

    @Test
    void matrixOnATieredCache_findsEachStateWhereItShouldBe() {
        Ran ran = run(tiered(), axes(), true);
        assertThat(ran.report.state().headline())
                .isEqualTo("COMPLETE: %s (100.0 %%): %d OK, 0 WARN, 0 FAIL, 0 INVALID"
                        .formatted(DEEP ? "162 of 162 legs" : "26 of 26 legs", DEEP ? 162 : 26));
        LoadLeg hot = ran.leg("b2/hot/streaming/1024tok/pass1");
        assertThat(hot.measured()).allMatch(request -> request.cachedTokens().getAsInt() >= 1_008);
        LoadLeg warm = ran.leg("b2/warm/streaming/1024tok/pass1");
        assertThat(warm.measured()).allMatch(request -> request.cachedTokens().getAsInt() > 0);
        assertThat(ran.leg("b1/cold/streaming/1024tok/pass1")
                        .measured()
                        .getFirst()
                        .cachedTokens())
                .hasValue(0);
        assertThat(ran.report.failures()).isEmpty();
        assertThat(ran.report.findings()).isEmpty();
    }

    @Test
    void wholeAnswers_haveNoFirstTokenInTheTable() {
        Ran ran = run(tiered(), axes(), true);
        List<String> head = ran.report.table().getFirst();
        List<String> whole = ran.report.table().stream()
                .filter(row -> row.getFirst().equals("b1/cold/non-streaming/1024tok"))
                .findFirst()
                .orElseThrow();
        assertThat(whole.get(head.indexOf("TTFT mean"))).isEqualTo("-");
        assertThat(whole.get(head.indexOf("E2E mean"))).isNotEqualTo("-");
        assertThat(ran.leg("b1/cold/non-streaming/1024tok/pass1").loadId())
                .isEqualTo(ran.leg("b1/cold/streaming/1024tok/pass1").loadId());
    }

    @Test
    void serverWithoutALowerTier_makesWarmLegsInvalid() {
        VirtualServer flat = VirtualServer.sglang(TIERED.withHostRatio(0), new Speed(40, 10_000, 1_000, 1), 1);
        Ran ran = run(flat, axes(), true);
        assertThat(ran.report.state().word()).isEqualTo(SuiteState.Word.FAILED);
        assertThat(ran.report.state().verdicts())
                .filteredOn(verdict -> verdict.word() == Word.INVALID)
                .isNotEmpty()
                .allSatisfy(verdict -> {
                    assertThat(verdict.id()).contains("/warm/");
                    assertThat(verdict.reasons().getFirst())
                            .startsWith("cache_state: it was to be warm")
                            .contains("found 0 of");
                });
        assertThat(ran.report.failures().getLast()).contains("cache warm").contains("of the");
    }

    @Test
    void sameTexts_getTheSameAnswersInAllStatesAndBatches() {
        Ran ran = run(tiered(), axes(), true);
        AnswerEquality equality = AnswerEquality.of(ran.folder.legs(), true).orElseThrow();
        assertThat(equality.compared()).isGreaterThan(10);
        assertThat(equality.others()).isZero();
        assertThat(AnswerEquality.of(ran.folder.legs(), false)).isEmpty();
        List<LoadLeg> corrupted = ran.folder.legs().stream()
                .map(leg ->
                        leg.id().equals("b2/warm/streaming/1024tok/pass1") ? MatrixLegs.answeredOtherwise(leg) : leg)
                .toList();
        AnswerEquality found = AnswerEquality.of(corrupted, true).orElseThrow();
        assertThat(found.others()).isEqualTo(1);
        assertThat(found.byConfiguration()).containsExactly(Map.entry("b2/warm", 1));
        assertThat(found.text()).contains("1 of ").contains("{b2/warm=1}");
    }

    /** Two caches that are restored at once disturb each other where prompts are short, as was reported of a server. */
    @Test
    void raceOfTwoCachedPrompts_isFoundInOneRunWithWhatItHasInCommon() {
        VirtualServer server = tiered();
        EngineUnderTest racing = new ChangedAnswers(
                server.engine(),
                sent -> sent.size() == 2 && sent.stream().allMatch(CacheMatrixTest::isShortAndCached)
                        ? sent.stream().map(CacheMatrixTest::empty).toList()
                        : sent);
        MatrixAxes axes = new MatrixAxes(
                Map.of(1, List.of(256, 512, 1_024), 2, List.of(256, 512, 1_024)),
                List.of(CacheState.values()),
                List.of(true, false),
                1,
                8,
                List.of());
        CacheMatrix matrix =
                new CacheMatrix(axes, new CacheMatrix.Setup(true, 16, Optional.of((long) GPU), Optional.of(4_000L), 1));
        Ran ran = run(new VirtualServer(racing, server.clock()), matrix.legs(), true);
        assertThat(ran.report.state().word()).isEqualTo(SuiteState.Word.FAILED);
        assertThat(ran.report.state().count(Word.FAIL)).isEqualTo(8);
        assertThat(ran.report.failures().getLast())
                .isEqualTo(
                        "All that failed has in common: batch b2, cache warm or hot, context 256tok or 512tok; of the 8"
                                + " configurations there 8 failed, of the 28 others none.");
    }

    private static boolean isShortAndCached(RequestRecord record) {
        return record.role() == Role.LOAD
                && record.promptTokens().orElse(0) <= 512
                && record.cachedTokens().orElse(0) > 0;
    }

    private static RequestRecord empty(RequestRecord record) {
        return new RequestRecord(
                record.number(),
                record.role(),
                record.cycle(),
                RequestStatus.EMPTY,
                record.scheduled(),
                record.sent(),
                record.firstByte(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                record.done(),
                record.promptTokens(),
                OptionalInt.of(0),
                record.cachedTokens(),
                "the engine generated nothing");
    }

    /** Of the server that restores caches, which cannot be flushed: every leg has texts of its own. */
    @Test
    void serverThatRestoresCaches_isHotAndWarmByItsOwnCount() {
        VirtualServer restoring = VirtualServer.phases(
                Stage.settings(Profile.RESTORE, Rates.RESTORING).withSizes(2_049, 16, 32_768));
        MatrixAxes axes =
                new MatrixAxes(Map.of(2, List.of(1_024)), List.of(CacheState.values()), List.of(true), 1, 8, List.of());
        CacheMatrix matrix =
                new CacheMatrix(axes, new CacheMatrix.Setup(false, 16, Optional.of(32_768L), Optional.empty(), 1));
        Ran ran = run(restoring, matrix.legs(), false);
        assertThat(ran.report.state().word()).isEqualTo(SuiteState.Word.COMPLETE);
        assertThat(ran.report.state().verdicts()).allMatch(verdict -> verdict.word() == Word.OK);
        assertThat(ran.folder.legs()).extracting(LoadLeg::loadId).doesNotHaveDuplicates();
    }

    @Test
    void emptyAnswers_failTheirLegsAndAreInNoFigure() {
        VirtualServer empty =
                VirtualServer.sglang(TIERED, new Speed(40, 10_000, 1_000, 1), 1, new HttpFault.EmptyOutputs(100));
        MatrixAxes axes =
                new MatrixAxes(Map.of(1, List.of(512)), List.of(CacheState.COLD), List.of(true), 2, 8, List.of());
        Ran ran = run(empty, axes, true);
        assertThat(ran.report.state().headline()).startsWith("FAILED: 2 of 2 legs (100.0 %): 0 OK, 0 WARN, 2 FAIL");
        assertThat(ran.report.findings().getFirst()).contains("is EMPTY");
        assertThat(ran.report.table().getLast()).endsWith("-", "0/2");
    }

    @Test
    void warmWithoutTheSizeOfTheCache_isRefusedWithTheMend() {
        assertThatThrownBy(() -> new CacheMatrix(
                        MatrixAxes.usual(), new CacheMatrix.Setup(true, 16, Optional.empty(), Optional.empty(), 1)))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("--gpu-cache-tokens")
                .hasMessageContaining("--states cold,hot");
        assertThatThrownBy(() ->
                        new MatrixAxes(Map.of(1, List.of(8)), List.of(CacheState.COLD), List.of(true), 1, 8, List.of()))
                .hasMessageContaining("A context is 8");
    }

    private static VirtualServer tiered() {
        return VirtualServer.sglang(TIERED, new Speed(40, 10_000, 1_000, 1), 1);
    }

    private static MatrixAxes axes() {
        return DEEP
                ? new MatrixAxes(
                        Map.of(1, List.of(256, 512, 1_024, 2_048), 2, List.of(256, 512, 1_024, 1_536, 2_000)),
                        List.of(CacheState.values()),
                        List.of(true, false),
                        3,
                        8,
                        List.of())
                : new MatrixAxes(
                        Map.of(1, List.of(512, 1_024), 2, List.of(512, 1_024)),
                        List.of(CacheState.values()),
                        List.of(true, false),
                        1,
                        8,
                        List.of(512));
    }

    private Ran run(VirtualServer server, MatrixAxes axes, boolean flushes) {
        CacheMatrix matrix = new CacheMatrix(
                axes, new CacheMatrix.Setup(flushes, 16, Optional.of((long) GPU), Optional.of(4_000L), 1));
        return run(server, matrix.legs(), flushes);
    }

    private Ran run(VirtualServer server, List<Suite.Leg> legs, boolean sameTexts) {
        LoadFolder files = LoadFolder.create(folder.resolve("m"), Suite.plan("cache-matrix", Map.of(), legs));
        new Suite(
                        legs,
                        CacheMatrix.servers(server.engine()),
                        Suite.Between.nothing(),
                        server.clock(),
                        MatrixLegs.silent())
                .run(files);
        ResultFile results = MatrixLegs.results(files);
        return new Ran(files, MatrixReport.of(SuiteState.of(files), files.legs(), results, sameTexts));
    }

    private record Ran(LoadFolder folder, MatrixReport report) {
        LoadLeg leg(String id) {
            return Stream.of(folder)
                    .flatMap(files -> files.legs().stream())
                    .filter(leg -> leg.id().equals(id))
                    .findFirst()
                    .orElseThrow();
        }
    }
}
