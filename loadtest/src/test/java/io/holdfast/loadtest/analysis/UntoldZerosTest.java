package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Shortfall;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.testing.Legs;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Counts of cached tokens that a server left out; a request of these legs has 72 prompt tokens, and pages have 4. */
final class UntoldZerosTest {
    /** As of a server that sends what is above 0. */
    private static List<LegRecord> legs() {
        return Legs.run(10, 5).stream()
                .map(leg -> Legs.withRequests(
                        leg, request -> request.cachedTokens().orElse(0) == 0 ? without(request) : request))
                .toList();
    }

    private static RequestRecord without(RequestRecord request) {
        return Legs.request(
                request.number(),
                request.role(),
                request.cycle(),
                request.ttftMillis().orElseThrow(),
                OptionalInt.empty());
    }

    private static LegRecord counting(LegRecord leg, long morePrompt, long moreCached) {
        return leg.withShares(List.of(new EngineShare(
                "http://a",
                leg.requests().stream()
                                .mapToLong(request -> request.promptTokens().orElse(0))
                                .sum()
                        + morePrompt,
                OptionalLong.of(leg.requests().stream()
                                .mapToLong(request -> request.cachedTokens().orElse(0))
                                .sum()
                        + moreCached))));
    }

    private static List<LegRecord> counting(List<LegRecord> legs) {
        return legs.stream().map(leg -> counting(leg, 0, 0)).toList();
    }

    private static Result judged(List<LegRecord> legs) {
        return Analysis.of(new Journal.Contents(Legs.header(), legs, List.of()));
    }

    private static String note(List<LegRecord> legs) {
        return UntoldZeros.of(Legs.header(), legs).note().orElse("none");
    }

    @Test
    void countThatTheServerLeftOut_is0_andItsCountersProveIt() {
        Result result = judged(counting(legs()));
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(result.baseline().cachedTokens()).hasValue(0);
        assertThat(result.warnings())
                .anySatisfy(warning -> assertThat(warning)
                        .isEqualTo("The server left the count of cached tokens out of 380 answers and told it in 16,"
                                + " never 0: it leaves out what is 0, so 0 was taken there; its own counters prove it,"
                                + " which found no more in the cache than the answers told, in each of 36 legs."));
    }

    /** What an arm sends for itself costs prefill, which is known by these counts alone. */
    @Test
    void countThatTheServerLeftOut_is0AlsoForRequestsOfTheArm() {
        List<LegRecord> own = legs().stream()
                .map(leg -> Legs.withOwn(
                        leg, List.of(without(leg.requests().getFirst().numbered(0)))))
                .toList();
        assertThat(UntoldZeros.of(Legs.header(), own).legs())
                .allSatisfy(leg -> assertThat(leg.own())
                        .singleElement()
                        .satisfies(request -> assertThat(request.cachedTokens()).hasValue(0)));
    }

    @Test
    void withoutCounters_theRuleHolds_andNothingIsSaidToProveIt() {
        Result result = judged(legs());
        assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(note(legs())).contains("no counters of its own prove it in any of 36 legs");
        List<LegRecord> some = new ArrayList<>(counting(legs()));
        some.set(3, legs().get(3));
        assertThat(note(some)).contains("prove it in 35 of 36 legs, and in the others they cannot, since");
    }

    @Test
    void serverThatNeverSentTheField_staysUnmeasured() {
        List<LegRecord> silent = counting(legs().stream()
                .map(leg -> Legs.withRequests(leg, UntoldZerosTest::without))
                .toList());
        assertThat(judged(silent).verdict().shortfall()).contains(Shortfall.UNMEASURED);
        assertThat(UntoldZeros.of(Legs.header(), silent).note()).isEmpty();
    }

    @Test
    void countersThatFoundMore_refuteTheRuleForAllLegs() {
        List<LegRecord> refuted = new ArrayList<>(counting(legs()));
        LegRecord baseline = refuted.stream()
                .filter(leg -> leg.isMeasured() && leg.arm() == Arm.BASELINE)
                .findFirst()
                .orElseThrow();
        refuted.set(refuted.indexOf(baseline), counting(baseline, 0, Legs.PREFIX));
        assertThat(judged(refuted).verdict().shortfall()).contains(Shortfall.UNMEASURED);
        assertThat(note(refuted))
                .contains("in " + baseline.label() + " its own counters found 64 cached tokens more")
                .endsWith("so these counts stay unknown.");
    }

    /** What others found in the cache is no count of ours. */
    @Test
    void countersWithOtherRequestsInThem_proveNothingAndRefuteNothing() {
        List<LegRecord> shared = new ArrayList<>(counting(legs()));
        shared.set(1, counting(shared.get(1), 500, 400));
        assertThat(judged(shared).verdict().finding()).isEqualTo(Finding.REAL);
        assertThat(note(shared)).contains("prove it in 35 of 36 legs");
    }

    /** Such a server leaves it out for another reason. */
    @Test
    void serverThatTellsZeros_isBelievedByItsCountersAlone() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> Legs.withRequests(leg, request -> request.number() == 2 ? without(request) : request))
                .toList();
        assertThat(UntoldZeros.of(Legs.header(), legs).legs()).isEqualTo(legs);
        assertThat(UntoldZeros.of(Legs.header(), counting(legs)).legs())
                .allSatisfy(leg -> assertThat(leg.requests())
                        .allMatch(request -> request.cachedTokens().isPresent()));
    }

    /** One leg whose counters were not read may have left out anything. */
    @Test
    void serverThatTellsZeros_isNotBelievedWhereOneLegHasNoProof() {
        List<LegRecord> legs = Legs.run(10, 5).stream()
                .map(leg -> Legs.withRequests(leg, request -> request.number() == 2 ? without(request) : request))
                .toList();
        List<LegRecord> some = new ArrayList<>(counting(legs));
        some.set(3, legs.get(3));
        UntoldZeros zeros = UntoldZeros.of(Legs.header(), some);
        assertThat(zeros.legs()).isEqualTo(some);
        assertThat(zeros.note()).isEmpty();
    }

    @Test
    void countersThatFoundOnePageMore_refuteTheRule_andLessThanAPageProvesIt() {
        List<LegRecord> less = new ArrayList<>(counting(legs()));
        less.set(0, counting(less.getFirst(), 0, 3));
        assertThat(note(less)).contains("in each of 36 legs");
        List<LegRecord> more = new ArrayList<>(counting(legs()));
        more.set(0, counting(more.getFirst(), 0, 4));
        assertThat(note(more)).contains("found 4 cached tokens more").endsWith("so these counts stay unknown.");
    }

    @Test
    void requestThatFailed_hasNoCount_andItsLegNoProof() {
        List<LegRecord> legs = new ArrayList<>(counting(legs()));
        legs.set(
                0,
                Legs.withRequests(
                        legs.getFirst(),
                        request -> request.number() == 2
                                ? Legs.failed(request, RequestStatus.TIMED_OUT, "late")
                                : request));
        UntoldZeros zeros = UntoldZeros.of(Legs.header(), legs);
        assertThat(zeros.legs().getFirst().requests().get(2).cachedTokens()).isEmpty();
        assertThat(zeros.note().orElseThrow()).contains("in 35 of 36 legs");
    }
}
