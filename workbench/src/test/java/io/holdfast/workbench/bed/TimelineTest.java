package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class TimelineTest {
    private static RequestRecord request(int number, int turn, int sent, int first, int last) {
        boolean ok = last > 0;
        return new RequestRecord(
                number,
                Role.FLOOD,
                1,
                ok ? RequestStatus.OK : RequestStatus.TIMED_OUT,
                turn * 1_000_000L,
                sent * 1_000_000L,
                OptionalLong.empty(),
                ok ? OptionalLong.of(first * 1_000_000L) : OptionalLong.empty(),
                ok ? OptionalLong.of(last * 1_000_000L) : OptionalLong.empty(),
                (ok ? last : first) * 1_000_000L,
                OptionalInt.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                ok ? "" : "too late");
    }

    @Test
    void threeRequests_areDrawnFromTurnToLastToken() {
        List<RequestRecord> requests =
                List.of(request(0, 0, 0, 4, 20), request(1, 2, 4, 10, 24), request(2, 6, 10, 40, 0));
        assertThat(new Timeline(requests, 40).lines())
                .containsExactly(
                        "                 0                                40.0 ms",
                        "flood    0       ----================",
                        "flood    1         ..------==============",
                        "flood    2  bad        ....------------------------------ too late",
                        "under way        1111222222333333333322221111111111111111",
                        "decoding         0000111111222222222211110000000000000000",
                        ". its turn came   - sent, until the first token   = until the last one");
    }

    @Test
    void shortOnes_areStillSeen() {
        List<RequestRecord> requests = List.of(request(0, 0, 0, 1, 2), request(1, 900, 900, 901, 1000));
        assertThat(new Timeline(requests, 20).lines().get(1)).startsWith("flood    0       =");
    }
}
