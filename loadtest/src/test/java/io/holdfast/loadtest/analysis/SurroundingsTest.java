package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class SurroundingsTest {
    private static final long MILLI = 1_000_000;
    private static final LegRecord GOOD = Legs.leg(1, PairOrder.AA, 1, 20, OptionalInt.of(0));

    private final Surroundings surroundings = new Surroundings(Legs.header());

    @Test
    void quietClient_passes() {
        assertThat(surroundings.failedBy(GOOD)).isEmpty();
        assertThat(surroundings.failedBy(GOOD.withClient(health(80, 100 * MILLI, 500 * MILLI))))
                .isEmpty();
    }

    @Test
    void saturatedLoop_isNamed() {
        assertThat(surroundings.failedBy(GOOD.withClient(health(81, 0, 0))))
                .singleElement()
                .asString()
                .startsWith("the client was saturated: its event loop took 81 % of a core");
    }

    @Test
    void clientThatStoodStill_isNamed() {
        assertThat(surroundings.failedBy(GOOD.withClient(health(10, 101 * MILLI, 0))))
                .singleElement()
                .asString()
                .startsWith("the client stood still for 101 ms");
    }

    @Test
    void dateThatMoved_isNamed() {
        assertThat(surroundings.failedBy(GOOD.withClient(health(10, 0, -501 * MILLI))))
                .singleElement()
                .asString()
                .startsWith("the date moved by -501 ms");
    }

    @Test
    void medianLagOfMoreThanTenMillis_fails() {
        assertThat(surroundings.failedBy(lagging(20, 9_900_000, 9_900_000))).isEmpty();
        assertThat(surroundings.failedBy(lagging(20, 10_100_000, 10_100_000)))
                .singleElement()
                .asString()
                .startsWith("requests were sent 10.1 ms after their turn (median)");
    }

    @Test
    void fewLateRequests_failFromAHundredOn() {
        assertThat(surroundings.failedBy(lagging(40, MILLI, 30 * MILLI))).isEmpty();
        assertThat(surroundings.failedBy(lagging(200, MILLI, 30 * MILLI)))
                .singleElement()
                .asString()
                .contains("1 % of the requests were sent more than 30.0 ms after their turn where at most 10.0 ms");
    }

    @Test
    void floodBelowItsConcurrency_fails() {
        assertThat(surroundings.failedBy(flood(100, 0))).isEmpty();
        assertThat(surroundings.failedBy(flood(100, 1))).isEmpty();
        assertThat(surroundings.failedBy(flood(20, 1))).isEmpty();
        assertThat(surroundings.failedBy(flood(30, 3))).hasSize(1);
        assertThat(surroundings.failedBy(flood(100, 5)))
                .singleElement()
                .asString()
                .contains("requests of a flood were under way at a time, "
                        + Legs.header().concurrency() + " were planned");
    }

    /** Where requests come at times of their own, how many are under way is the server's doing. */
    @Test
    void floodAtTimesOfItsOwn_hasARateInPlaceOfAConcurrency() {
        Surroundings open = new Surroundings(Legs.arriving("constant:10"));
        assertThat(open.failedBy(flood(100, 5))).isEmpty();
        assertThat(open.failedBy(arriving(0, 0))).isEmpty();
        assertThat(open.failedBy(arriving(0, 9))).isEmpty();
        assertThat(open.failedBy(arriving(9, 0))).isEmpty();
        assertThat(open.failedBy(arriving(0, 50)))
                .singleElement()
                .asString()
                .isEqualTo(
                        "9.47 requests of a flood were sent a second where 10.00 were planned; use a machine with less"
                                + " other load, or a lower rate");
        assertThat(surroundings.failedBy(arriving(0, 0)))
                .singleElement()
                .asString()
                .contains("under way at a time");
    }

    /** Ten requests, one each 100 ms, the first and the last of which are sent so much after their turn. */
    private static LegRecord arriving(int firstLateMillis, int lastLateMillis) {
        List<RequestRecord> records = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            long turn = 100 * MILLI * i;
            long sent = turn + MILLI * (i == 0 ? firstLateMillis : i == 9 ? lastLateMillis : 1);
            records.add(stamped(Legs.request(i, Role.FLOOD, 1, 20, OptionalInt.of(0)), turn, sent, sent + 20 * MILLI));
        }
        return Legs.withRequests(GOOD, records);
    }

    @Test
    void stampsOutOfOrder_areTheClock() {
        LegRecord leg = Legs.withRequests(
                GOOD,
                request -> request.number() == 3
                        ? stamped(request, request.scheduled(), request.sent(), request.sent() - 1)
                        : request);
        assertThat(surroundings.failedBy(leg))
                .singleElement()
                .asString()
                .startsWith("the stamps of request 3 are not in the order");
    }

    @Test
    void clause_getsItsLegInTheGates() {
        Gates gates = new Gates(Legs.header());
        LegRecord leg = GOOD.withClient(health(95, 0, 0));
        assertThat(gates.surroundings(leg))
                .singleElement()
                .asString()
                .startsWith("In life 1 AA, leg 1 (baseline) the client was saturated");
        assertThat(gates.failedBy(leg)).isEqualTo(gates.surroundings(leg));
    }

    /** @param loopPercent of a core */
    private static Optional<ClientHealth> health(int loopPercent, long still, long clock) {
        return Optional.of(new ClientHealth(100 * MILLI, loopPercent * MILLI, 0, still, 0, 0, clock));
    }

    /** Requests one after another, one in fifty of them as late as that. */
    private static LegRecord lagging(int requests, long lag, long now) {
        List<RequestRecord> records = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            long turn = 100 * MILLI * i;
            long sent = turn + (i % 50 == 49 ? now : lag);
            records.add(stamped(Legs.request(i, Role.PROBE, 1, 20, OptionalInt.of(0)), turn, sent, sent + 20 * MILLI));
        }
        return Legs.withRequests(GOOD, records);
    }

    /** A flood on all lanes, each of which is idle for so many milliseconds between two requests. */
    private static LegRecord flood(int takesMillis, int idleMillis) {
        List<RequestRecord> records = new ArrayList<>();
        int lanes = Legs.header().concurrency();
        for (int i = 0; i < 20 * lanes; i++) {
            long turn = MILLI * (takesMillis + idleMillis) * (i / lanes);
            records.add(stamped(
                    Legs.request(i, Role.FLOOD, 1, 20, OptionalInt.of(0)), turn, turn, turn + takesMillis * MILLI - 1));
        }
        return Legs.withRequests(GOOD, records);
    }

    private static RequestRecord stamped(RequestRecord from, long scheduled, long sent, long first) {
        return new RequestRecord(
                from.number(),
                from.role(),
                from.cycle(),
                RequestStatus.OK,
                scheduled,
                sent,
                OptionalLong.of(Math.max(sent, first)),
                OptionalLong.of(first),
                OptionalLong.of(first),
                Math.max(sent, first) + 1,
                from.promptTokens(),
                from.completionTokens(),
                from.cachedTokens(),
                "");
    }
}
