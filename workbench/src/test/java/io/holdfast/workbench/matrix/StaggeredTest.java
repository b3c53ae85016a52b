package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.measure.Quantity;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.GpuFault;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.Profile;
import io.holdfast.rules.vllm.Rates;
import io.holdfast.rules.vllm.Stage;
import io.holdfast.workbench.load.LoadFolder;
import io.holdfast.workbench.load.LoadLeg;
import io.holdfast.workbench.load.Suite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class StaggeredTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int MILLI = 1_000_000;

    @TempDir
    private Path folder = Path.of("");

    private int folders;

    @Test
    void userB_comesAfterTheEndOfAOrAFixedTimeAfterIt() {
        List<LoadLeg> legs =
                run(interleaving(1), new Staggered(List.of(2_048), Duration.ofMillis(50), 16, true, 1).passes(2));
        assertThat(legs)
                .extracting(LoadLeg::id)
                .containsExactly(
                        "staggered/sequential/2048tok/pass1",
                        "staggered/batched/2048tok/pass1",
                        "staggered/batched/2048tok/pass2",
                        "staggered/sequential/2048tok/pass2");
        assertThat(legs).allSatisfy(leg -> {
            TwoUsers users = TwoUsers.of(leg).orElseThrow();
            if (users.mode() == Staggered.Mode.SEQUENTIAL) {
                assertThat(users.bSentFromWall()).isBetween(users.aOverFromWall(), users.aOverFromWall() + 10);
                assertThat(users.met()).isFalse();
            } else {
                assertThat(users.bSentFromWall()).isEqualTo(50, within(0.001));
                assertThat(users.met()).isTrue();
            }
            assertThat(users.bTtftFromWall()).isEqualTo(users.bSentFromWall() + users.bTtft(), within(0.001));
        });
        assertThat(legs.get(0).of("users"))
                .extracting(RequestRecord::output)
                .isEqualTo(legs.get(1).of("users").stream()
                        .map(RequestRecord::output)
                        .toList());
    }

    /** A server that answers one request at a time gains nothing by getting two. */
    @Test
    void serialisedServer_isNoEffect() {
        VirtualServer one = VirtualServer.sglang(
                SglangSettings.defaults().withSizes(16_384, 16, 8_192).withMaxRunning(1),
                new Speed(200, 5_000, 10_000, 1),
                1,
                new GpuFault.Noise(0, 1, 1, 7));
        StaggeredReport report = judged(one);
        assertThat(report.verdict().orElseThrow().finding()).isEqualTo(Finding.NO_EFFECT);
        assertThat(report.verdict()
                        .orElseThrow()
                        .estimate()
                        .ci90()
                        .orElseThrow()
                        .within(Math.log(1.05)))
                .isTrue();
        assertThat(report.says().getFirst()).contains("NO_EFFECT");
    }

    @Test
    void interleavedServer_isRealAndShowsInTheItlOfA() {
        StaggeredReport report = judged(interleaving(3));
        assertThat(report.verdict().orElseThrow().finding()).isEqualTo(Finding.REAL);
        assertThat(report.verdict().orElseThrow().estimate().effectPercent().orElseThrow())
                .isLessThan(-5);
        assertThat(report.legs())
                .filteredOn(leg -> leg.mode() == Staggered.Mode.BATCHED)
                .allSatisfy(leg -> assertThat(leg.interleaving().orElseThrow()).isGreaterThan(2));
        assertThat(report.findings()).isEmpty();
    }

    /** In chunks A's tokens go on while B's prompt is read; in one piece they stop. */
    @Test
    void prefillInOnePiece_stopsTheTokensOfAForLonger() {
        assertThat(interleaving(report(phases(Profile.PAGED))))
                .isGreaterThan(1.5 * interleaving(report(phases(Profile.CHUNKED))));
    }

    private static double interleaving(StaggeredReport report) {
        return report.legs().stream()
                .flatMapToDouble(leg -> leg.interleaving().stream())
                .average()
                .orElseThrow();
    }

    private StaggeredReport report(VirtualServer server) {
        return StaggeredReport.of(
                        run(server, new Staggered(List.of(2_048), Duration.ofMillis(500), 64, false, 1).passes(1)),
                        false)
                .getFirst();
    }

    private static VirtualServer phases(Profile profile) {
        return VirtualServer.phases(Stage.settings(profile, Rates.LLAMA));
    }

    @Test
    void restoringServer_readsPromptsInChunksOneAfterTheOther() {
        VirtualServer restoring = VirtualServer.phases(Stage.settings(Profile.RESTORE, Rates.RESTORING));
        int context = DEEP ? 16_384 : 4_096;
        List<LoadLeg> legs =
                run(restoring, new Staggered(List.of(context), Staggered.USUAL_DELAY, 64, false, 1).passes(1));
        TwoUsers sequential = TwoUsers.of(legs.getFirst()).orElseThrow();
        TwoUsers batched = TwoUsers.of(legs.getLast()).orElseThrow();
        assertThat(batched.bTtft()).isGreaterThan(1.5 * sequential.bTtft());
        assertThat(batched.bTtftFromWall())
                .isEqualTo(sequential.bTtftFromWall(), within(0.15 * sequential.bTtftFromWall()));
        assertThat(StaggeredReport.of(legs, false).getFirst().table()).hasSize(8);
    }

    /** A published report added up a mean time to the first token where the time of a whole answer belongs. */
    @Test
    void publishedTimes_areAddedUpFromStampsAndNotFromMeans() {
        TwoUsers sequential = TwoUsers.of(leg("sequential", 16_877, 19_691, 19_691, 16_477, 38_982))
                .orElseThrow();
        TwoUsers batched = TwoUsers.of(leg("batched", 16_888, 38_884, 2_000, 34_067, 38_884))
                .orElseThrow();
        assertThat(sequential.bTtftFromWall()).isEqualTo(36_168, within(0.5));
        assertThat(batched.bTtftFromWall()).isEqualTo(36_067, within(0.5));
        assertThat(sequential.systemTps()).isEqualTo(3.28, within(0.005));
        assertThat(batched.systemTps()).isEqualTo(3.29, within(0.005));
        String json = StaggeredReport.json(
                StaggeredReport.of(List.of(leg("sequential", 16_877, 19_691, 19_691, 16_477, 38_982)), false));
        assertThat(json).contains("\"user_b_ttft_from_wall_start\" : 36168.0").contains("\"format\" : 1");
    }

    @Test
    void resultOfALeg_hasNoTimeThatBeginsWhereAnotherModesDoesNot() {
        LoadLeg leg = leg("batched", 16_888, 38_884, 2_000, 34_067, 38_884);
        LoadResult plain = leg.result("test", List.of(50.0), Optional.empty());
        LoadResult comparable = TwoUsers.comparable(leg, plain);
        assertThat(plain.measures().of(Metric.mean(Quantity.TTFT))).isPresent();
        assertThat(comparable.measures().of(Metric.mean(Quantity.TTFT))).isEmpty();
        assertThat(comparable.measures().of(Metric.USER_B_TTFT_FROM_WALL_START)).hasValue(36_067);
        assertThat(Metric.named("user_b_ttft_from_wall_start")).hasValue(Metric.USER_B_TTFT_FROM_WALL_START);
        LoadLeg other = MatrixLegs.leg("a/b", Map.of(), MatrixLegs.answer(8, 0));
        LoadResult same = other.result("test", List.of(50.0), Optional.empty());
        assertThat(TwoUsers.comparable(other, same)).isSameAs(same);
    }

    @Test
    void twoUsersSlowerThanOne_isAFinding() {
        assertThat(TwoUsers.implausible(3.3, 7, 4_096))
                .hasValueSatisfying(found -> assertThat(found)
                        .contains("3.3 tokens a second at 4,096")
                        .contains("one alone 7.0"));
        assertThat(TwoUsers.implausible(8, 7, 4_096)).isEmpty();
    }

    @Test
    void userBWhoComesTooLate_isAFindingAndNotASlowServer() {
        StaggeredReport report = StaggeredReport.of(
                        run(interleaving(1), new Staggered(List.of(256), Duration.ofSeconds(20), 8, true, 1).passes(1)),
                        false)
                .getFirst();
        assertThat(report.findings())
                .singleElement()
                .asString()
                .contains("never together")
                .contains("--delay");
        assertThatThrownBy(() -> new Staggered(List.of(256), Duration.ZERO, 8, true, 1))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("as 2s");
    }

    private static LoadLeg leg(String mode, long aTtft, long aOver, long bSent, long bTtft, long wall) {
        LoadLeg plain = MatrixLegs.leg(
                "staggered/" + mode + "/4096tok/pass1",
                Map.of("mode", mode, "context", "4096", "pair", "1", "order", "BP", "answer", "64"));
        return new LoadLeg(
                plain.id(),
                mode,
                "",
                "",
                plain.settings(),
                "",
                List.of(new LoadLeg.Part(
                        "users",
                        true,
                        0,
                        wall * MILLI,
                        List.of(answer(0, 0, aTtft, aOver), answer(1, bSent, bSent + bTtft, wall)))),
                Map.of(),
                Optional.empty(),
                Optional.empty());
    }

    private static RequestRecord answer(int number, long sent, long first, long last) {
        long[] stamps = IntStream.range(0, 64)
                .mapToLong(i -> (first + i * (last - first) / 63) * MILLI)
                .toArray();
        return new RequestRecord(
                number,
                Role.LOAD,
                0,
                RequestStatus.OK,
                sent * MILLI,
                sent * MILLI,
                OptionalLong.of(first * MILLI),
                OptionalLong.of(first * MILLI),
                OptionalLong.of(last * MILLI),
                last * MILLI,
                OptionalInt.of(4_096),
                OptionalInt.of(64),
                OptionalInt.of(0),
                "",
                OptionalInt.empty(),
                OptionalLong.of(first * MILLI),
                TokenStamps.of(stamps, IntStream.generate(() -> 1).limit(64).toArray(), 64));
    }

    private static VirtualServer interleaving(long seed) {
        return VirtualServer.sglang(
                SglangSettings.defaults().withSizes(16_384, 16, 8_192).withChunkedPrefillTokens(256),
                new Speed(200, 5_000, 10_000, 1),
                seed,
                new GpuFault.Noise(0, 1, 1, 7));
    }

    private StaggeredReport judged(VirtualServer server) {
        List<Suite.Leg> legs = new Staggered(List.of(2_048), Duration.ofMillis(450), 64, true, 1).rounds(4);
        assertThat(legs).hasSize(24);
        return StaggeredReport.of(run(server, legs), true).getFirst();
    }

    private List<LoadLeg> run(VirtualServer server, List<Suite.Leg> legs) {
        LoadFolder files = LoadFolder.create(folder.resolve("s" + folders++), Suite.plan("staggered", Map.of(), legs));
        new Suite(
                        legs,
                        Suite.Servers.one(server.engine()),
                        Suite.Between.nothing(),
                        server.clock(),
                        MatrixLegs.silent())
                .run(files);
        return files.legs();
    }
}
