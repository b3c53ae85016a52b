package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.sidecar.TraceOverSockets.Found;
import io.holdfast.storm.TraceRequest;
import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What a trace is worth over sockets is measured by hand; here that each of its requests arrives and is seen. */
final class TraceOverSocketsTest {
    private static final int REQUESTS = 30;

    @Test
    void requestsOfATrace_areAnsweredAndSeenFromEvents() throws IOException {
        List<TraceRequest> trace = IntStream.range(0, REQUESTS)
                .mapToObj(i -> new TraceRequest(300L * i, 1_000, 1 + i, List.of(2 * i, 2 * i + 1)))
                .toList();
        Found found = new TraceOverSockets(trace, 1 << 18, 10).run(TraceOverSockets.DRY_RUN, false);
        assertThat(found.answered()).isEqualTo(REQUESTS);
        assertThat(found.seen()).isEqualTo(REQUESTS);
        assertThat(found.percent()).as("each is another").isZero();
    }
}
