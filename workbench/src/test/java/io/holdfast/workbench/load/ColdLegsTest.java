package io.holdfast.workbench.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Metric;
import io.holdfast.loadtest.run.VirtualServer;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.workbench.load.Recipe.Part;
import io.holdfast.workbench.load.Recipe.Range;
import io.holdfast.workbench.load.Recipe.Share;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Legs in virtual time, one after the other at one server. */
final class ColdLegsTest {
    private final VirtualServer server = VirtualServer.usual();

    /** Six that begin alike: the first has nothing to find, so five may find the prefix. */
    private static final DrawnLoad SHARED = DrawnLoad.of(new Recipe(
            "shared",
            "",
            1,
            Map.of("prefix", 256),
            List.of(new Part(
                    "load",
                    true,
                    6,
                    Optional.of("prefix"),
                    List.of(new Share(1, Range.of(64))),
                    Range.of(2),
                    "sequential",
                    Optional.empty(),
                    List.of(),
                    false,
                    Duration.ZERO))));

    @Test
    void legsOfACacheThatIsLeftAsItIs_areSaidToBeWarm() {
        ColdLegs asFound = ColdLegs.asFound();
        assertThat(run(asFound, "").notes()).doesNotContainKey(LoadLeg.WARM);
        LoadLeg again = run(asFound, "");
        assertThat(again.notes().getOrDefault(LoadLeg.WARM, ""))
                .matches("The cache was warm: [\\d,]+ tokens of prompts were found in it, and what the requests have in"
                        + " common with earlier ones of this leg is at most 1,280; .*");
        LoadResult result = again.result("test", List.of(50.0), Optional.empty());
        assertThat(result.notes()).singleElement().asString().startsWith("The cache was warm");
        assertThat(result.measures().of(Metric.CACHED_SHARE).orElseThrow()).isGreaterThan(0.9);
    }

    @Test
    void emptiedAndSaltedLegs_findWhatTheyPutThereThemselves() {
        for (ColdLegs cold : List.of(ColdLegs.emptied(), ColdLegs.salted(7))) {
            for (int again = 0; again < 3; again++) {
                LoadLeg leg = run(cold, "");
                assertThat(leg.notes()).doesNotContainKey(LoadLeg.WARM);
                assertThat(leg.measured().getFirst().cachedTokens()).hasValue(0);
                assertThat(leg.measured().getLast().cachedTokens().orElseThrow())
                        .isBetween(240, 272);
            }
        }
    }

    /** Arms that have lives of their own get the very same, down to the salt. */
    @Test
    void saltOfALoad_isTheSameInEachLife_andAnotherOneEachTimeInOne() {
        ColdLegs cold = ColdLegs.salted(7);
        String first = run(cold, "baseline").bodies();
        assertThat(run(cold, "other").bodies()).isEqualTo(first);
        assertThat(run(cold, "baseline").loadId()).isEqualTo(SHARED.id());
    }

    private LoadLeg run(ColdLegs cold, String life) {
        return cold.run(server.engine(), server.clock(), life, new Suite.Leg("shared", SHARED, Map.of()));
    }

    @Test
    void text_getsFewerWords_andStaysAlikeWhereItWasAlike() {
        int[] tokens = IntStream.range(0, 1_000).toArray();
        int[] other =
                IntStream.range(0, 1_000).map(i -> i < 600 ? i : i + 5_000).toArray();
        LoadRequest one = new LoadRequest(Role.LOAD, 0, tokens, 1).asWords(1.4);
        LoadRequest two = new LoadRequest(Role.LOAD, 0, other, 1).asWords(1.4);
        assertThat(one.length()).isBetween(713, 716);
        int mismatch = java.util.Arrays.mismatch(one.tokens(), two.tokens());
        assertThat(mismatch).isBetween(428, 430);
        assertThat(one.tokens()[0]).isZero();
    }
}
