package io.holdfast.core.rank;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class ShadowGateTest {
    private final ShadowGate gate = new ShadowGate();

    @Test
    void firstMinute_provesNothing() {
        gate.request(100, 0, 100, 7, 60);
        assertThat(gate.decide(7 + 59.9)).isFalse();
        assertThat(gate.decide(7 + 60)).isTrue();
        assertThat(gate.changes()).isEqualTo(1);
    }

    @Test
    void advantageOfOneInFiveHundred_isNone() {
        gate.request(10_000, 100, 120, 0, 60);
        assertThat(gate.decide(60)).isFalse();
        gate.request(0, 0, 1, 0, 60);
        assertThat(gate.decide(60)).isTrue();
    }

    /** What opened it once is pinned by now: to let go of that for a little less would make it flap. */
    @Test
    void openGate_staysOpenWhileAnyAdvantageIsLeft() {
        gate.request(10_000, 100, 200, 0, 60);
        assertThat(gate.decide(60)).isTrue();
        gate.request(0, 99, 0, 0, 60);
        assertThat(gate.decide(60)).as("one block is left").isTrue();
        gate.request(0, 1, 0, 0, 60);
        assertThat(gate.decide(60)).isFalse();
    }

    @Test
    void evidenceOfAnEarlierProcess_opensAfterTheMarginAlone() {
        gate.request(10_000, 100, 200, 0, 60);
        gate.request(0, 0, 0, 90, 60);
        LearnedRank.LearnedEvidence learned = gate.learned(100);
        assertThat(learned.forSeconds()).isEqualTo(90);
        assertThat(learned.idleSeconds()).isEqualTo(10);

        ShadowGate next = new ShadowGate();
        next.restore(learned, 1_000, 0, 60);
        assertThat(next.isOpen()).isFalse();
        assertThat(next.decide(1_000)).isTrue();

        ShadowGate young = new ShadowGate();
        young.request(0, 0, 0, 970, 60);
        young.restore(new LearnedRank.LearnedEvidence(100, 200, 10_000, 20, 0), 980, 0, 60);
        assertThat(young.decide(980))
                .as("both lives saw it for less than a minute")
                .isFalse();
        assertThat(young.decide(1_020)).isTrue();
    }

    @Test
    void evidenceOfAnEarlierProcess_fadesByTheTimeSince_andIsNoneAfterTwentyMinutes() {
        LearnedRank.LearnedEvidence learned = new LearnedRank.LearnedEvidence(0, 10_000, 10_000, 300, 100);
        ShadowGate next = new ShadowGate();
        next.restore(learned, 0, 200, 60);
        assertThat(next.evidence().with()).as("e times less in five minutes").isBetween(3_670.0, 3_680.0);
        assertThat(next.learned(0).references()).isEqualTo(next.evidence().with());
        ShadowGate late = new ShadowGate();
        late.restore(learned, 0, 1_101, 60);
        assertThat(late.learned(0).references()).isZero();
        assertThat(late.decide(60)).isFalse();
    }

    /** Evidence fades within five residences, and within twenty minutes however long blocks stay. */
    @Test
    void evidence_isOfTheLastMinutes() {
        gate.request(10_000, 0, 10_000, 0, 100_000);
        gate.request(0, 0, 0, 1_200, 100_000);
        assertThat(gate.evidence().with()).isBetween(3_600.0, 3_700.0);
        gate.request(0, 0, 0, 1_500, 1);
        assertThat(gate.evidence().with()).as("e times less in five minutes").isBetween(1_350.0, 1_360.0);
        gate.request(0, 0, 0, 2_000, 100);
        assertThat(gate.evidence().with()).as("and in five residences").isBetween(495.0, 500.0);
    }
}
