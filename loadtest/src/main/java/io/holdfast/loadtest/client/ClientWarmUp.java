package io.holdfast.loadtest.client;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongSupplier;

/**
 * Streams tokens from a server of the client's own until the client's share of a latency has settled. A process that
 * just began takes many times longer for the same work, until it is compiled: measured cold, the first lives of a run
 * would be slower than the last, by the client's doing.
 */
final class ClientWarmUp {
    private static final Duration LIMIT = Duration.ofSeconds(60);
    private static final int LANES = 8;
    private static final int PROMPT = 1_024;
    private static final int TOKENS = 16;
    private static final int REQUESTS_OF_A_ROUND = 250;
    private static final int MOST_ROUNDS = 15;
    private static final int LEAST_ROUNDS = 5;
    private static final double SETTLED = 1.1;

    private final Vertx vertx;
    private final HttpSettings settings;
    private final LongSupplier nanos;

    ClientWarmUp(Vertx vertx, HttpSettings settings, LongSupplier nanos) {
        this.vertx = vertx;
        this.settings = settings;
        this.nanos = nanos;
    }

    /** Rounds of 4,000 tokens, until two in a row were no faster than the fastest before, or 60,000 tokens are done. */
    Warmth run() {
        return run(MOST_ROUNDS);
    }

    Warmth run(int mostRounds) {
        long began = nanos.getAsLong();
        List<Double> lags = new ArrayList<>();
        try (LoopbackServer server = new LoopbackServer(settings.route(), Duration.ZERO, nanos);
                EngineClient client = new EngineClient(vertx, server.uri(), settings, nanos)) {
            EngineClient.await(client.open(LANES), LIMIT, "opening the connections of the client's own server");
            double fastest = Double.MAX_VALUE;
            int noFaster = 0;
            while (lags.size() < mostRounds && (lags.size() < LEAST_ROUNDS || noFaster < 2)) {
                double lag = round(client);
                lags.add(lag);
                noFaster = lag * SETTLED > fastest ? noFaster + 1 : 0;
                fastest = Math.min(fastest, lag);
            }
        }
        return new Warmth(
                lags.size() * REQUESTS_OF_A_ROUND * TOKENS,
                Duration.ofNanos(nanos.getAsLong() - began),
                lags.getFirst(),
                lags.getLast());
    }

    private double round(EngineClient client) {
        List<Prepared> requests = new ArrayList<>();
        for (int i = 0; i < REQUESTS_OF_A_ROUND; i++) {
            int[] prompt = new int[PROMPT];
            Arrays.fill(prompt, i);
            LoadRequest request = new LoadRequest(Role.FLOOD, 1, prompt, TOKENS);
            requests.add(new Prepared(i, request, Buffer.buffer(settings.body(request))));
        }
        List<RequestRecord> records =
                EngineClient.await(client.closedLoop(requests, LANES), LIMIT, "warming the client");
        return Quantiles.of(
                records.stream()
                        .mapToDouble(record -> (record.sent() - record.scheduled()) / 1e3)
                        .toArray(),
                0.5);
    }

    /**
     * Cost of the warm-up.
     *
     * @param firstLagMicros between a request's turn and its sending, median of the first round
     * @param lastLagMicros the same of the last round
     */
    record Warmth(int tokens, Duration took, double firstLagMicros, double lastLagMicros) {}
}
