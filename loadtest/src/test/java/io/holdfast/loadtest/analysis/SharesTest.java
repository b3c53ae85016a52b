package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.testing.Legs;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** The engines' counters held against their answers; a request of these legs has 72 prompt tokens. */
final class SharesTest {
    private static final LegRecord LEG = Legs.run(10, 8).get(1);
    private static final int SENT = LEG.requests().stream()
            .mapToInt(request -> request.promptTokens().orElseThrow())
            .sum();
    private static final int CACHED = LEG.requests().stream()
            .mapToInt(request -> request.cachedTokens().orElseThrow())
            .sum();

    @Test
    void countersThatAgree_areNotSpokenOf() {
        assertThat(told(share("a", SENT, CACHED))).isEmpty();
        assertThat(told(share("a", SENT / 2, CACHED), share("b", SENT - SENT / 2, 0)))
                .isEmpty();
        assertThat(told(share("a", SENT + SENT / 200, CACHED))).as("within 1 %").isEmpty();
        assertThat(told(share("a", SENT - SENT / 200, CACHED))).as("within 1 %").isEmpty();
        assertThat(told()).as("of engines that count nothing").isEmpty();
    }

    @Test
    void countersBeyondWhatWasSent_areOfSomebodyElse() {
        assertThat(told(share("a", SENT + SENT / 20, CACHED)))
                .singleElement()
                .asString()
                .contains("somebody else uses it as well");
    }

    @Test
    void countersBelowWhatWasSent_missAnEngine() {
        assertThat(told(share("a", SENT / 2, CACHED)))
                .singleElement()
                .asString()
                .contains("a part of it was served");
    }

    @Test
    void cachedTokensThatContradictTheAnswers_areNoProof() {
        assertThat(told(share("a", SENT, CACHED + SENT / 2)))
                .singleElement()
                .asString()
                .startsWith("By the answers ")
                .endsWith("so take the cached tokens of this run for no proof.");
        assertThat(told(new EngineShare("a", SENT, OptionalLong.empty())))
                .as("not counted is not 0")
                .isEmpty();
    }

    /** What the arm sends is counted by the engine like all else. */
    @Test
    void requestsOfTheArm_areAmongWhatWasSent() {
        LegRecord touched = Legs.withOwn(LEG, LEG.probes());
        int own = LEG.probes().stream()
                .mapToInt(request -> request.promptTokens().orElseThrow())
                .sum();
        int found = LEG.probes().stream()
                .mapToInt(request -> request.cachedTokens().orElseThrow())
                .sum();
        assertThat(Shares.contradictions(
                        Legs.header(), List.of(touched.withShares(List.of(share("a", SENT + own, CACHED + found))))))
                .isEmpty();
    }

    /** A sidecar that opens sessions or keeps prefixes warm asks the engine too, in pinned legs alone. */
    @Test
    void countersBeyondWhatWasSent_inPinnedLegsAlone_areWhatHolds() {
        List<LegRecord> legs = Legs.run(10, 8);
        LegRecord baseline = only(legs, Arm.BASELINE);
        LegRecord pinned = only(legs, Arm.PINNED);
        List<String> told =
                Shares.contradictions(Legs.header(), List.of(counting(baseline, 0), counting(pinned, SENT / 20)));
        assertThat(told)
                .containsExactly("In the pinned legs the server counted " + SENT / 20
                        + " prompt tokens more than were sent, and in the baseline legs no more: what switches the"
                        + " arm, such as a sidecar, sends requests of its own, which are no load.");
        assertThat(Shares.contradictions(
                        Legs.header(), List.of(counting(baseline, SENT / 20), counting(pinned, SENT / 20))))
                .singleElement()
                .asString()
                .contains("somebody else uses it as well");
    }

    private static LegRecord only(List<LegRecord> legs, Arm arm) {
        return legs.stream().filter(leg -> leg.arm() == arm).findFirst().orElseThrow();
    }

    private static LegRecord counting(LegRecord leg, long more) {
        long sent = leg.requests().stream()
                .mapToLong(request -> request.promptTokens().orElseThrow())
                .sum();
        long found = leg.requests().stream()
                .mapToLong(request -> request.cachedTokens().orElseThrow())
                .sum();
        return leg.withShares(List.of(share("a", sent + more, found)));
    }

    /** Of a request that failed nobody knows how much of it was counted. */
    @Test
    void legsWithFailedRequests_areLeftOut() {
        LegRecord failed = Legs.withRequests(
                LEG,
                request -> request.number() == 2 ? Legs.failed(request, RequestStatus.TIMED_OUT, "late") : request);
        assertThat(Shares.contradictions(Legs.header(), List.of(failed.withShares(List.of(share("a", 7L * SENT, 0))))))
                .isEmpty();
    }

    @Test
    void shares_areAddedByEngine() {
        List<LegRecord> legs = List.of(
                LEG.withShares(List.of(share("b", 1, 1), share("a", 10, 5))),
                LEG.withShares(List.of(share("a", 20, 6), new EngineShare("b", 2, OptionalLong.empty()))));
        assertThat(Shares.of(legs)).containsExactly(share("a", 30, 11), new EngineShare("b", 3, OptionalLong.empty()));
    }

    private static EngineShare share(String engine, long prompt, long cached) {
        return new EngineShare(engine, prompt, OptionalLong.of(cached));
    }

    private static List<String> told(EngineShare... shares) {
        return Shares.contradictions(Legs.header(), List.of(LEG.withShares(List.of(shares))));
    }
}
