package io.holdfast.core.hold;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which holds may be let go for a while to measure what they do. */
final class MeasuredHoldTest {
    private static final HoldRequest PLAIN = new HoldRequest(new long[] {1, 2}, Duration.ofHours(1));
    private static final HoldRequest OFFERED = PLAIN.toBeMeasured();

    private static Hold hold(HoldOrigin origin, HoldRequest request) {
        return Hold.requested(1, origin, request, 0, "asked for");
    }

    @Test
    void requestedHold_mayBe_whereItsOwnerOffersIt() {
        assertThat(hold(HoldOrigin.REQUESTED, PLAIN).measured()).isFalse();
        assertThat(hold(HoldOrigin.REQUESTED, OFFERED).measured()).isTrue();
        assertThat(hold(HoldOrigin.REQUESTED, OFFERED.withWeight(3).by("a").withTokens(new int[32]))
                        .measured())
                .isTrue();
    }

    @Test
    void automaticHold_alwaysMayBe() {
        assertThat(hold(HoldOrigin.AUTOMATIC, PLAIN).measured()).isTrue();
    }

    @Test
    void sharedHold_mayBe_onlyWhileAllOfferIt() {
        Hold both = hold(HoldOrigin.REQUESTED, OFFERED.by("a"));
        both = both.askedAgain(PLAIN.by("b"), both.claims().with(PLAIN.by("b"), 1));
        assertThat(both.measured()).isFalse();
        assertThat(both.claimedBy(both.claims().without("b").orElseThrow()).measured())
                .isTrue();
        assertThat(both.claimedBy(both.claims().with(OFFERED.by("b"), 2)).measured())
                .as("asked again with the offer")
                .isTrue();
    }

    @Test
    void offer_outlivesARestart() {
        List<ClaimView> kept = hold(HoldOrigin.REQUESTED, OFFERED).claims().views(5);
        assertThat(Claims.restored(kept, 9).measured()).isTrue();
    }
}
