package io.holdfast.loadtest.client;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.client.EngineClient.Prepared;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.LongSupplier;

/**
 * Measures what this client can measure on this machine: it streams from a server whose own stamps are known, or from
 * any other, and reports what it saw and what that cost.
 */
public final class Calibration {
    private static final Duration LIMIT = Duration.ofMinutes(5);
    private static final int FIRST_TOKEN = 1_000;

    private final Vertx vertx;
    private final HttpSettings settings;
    private final LongSupplier nanos;
    private final Plan plan;

    /**
     * Amount that is streamed.
     *
     * @param requestsPerStream one after another on each connection
     * @param promptTokens of each
     * @param outputTokens of each
     * @param pace between two tokens of the client's own server
     */
    public record Plan(int requestsPerStream, int promptTokens, int outputTokens, Duration pace) {}

    /** @param settings of the server that is asked; its route goes for the client's own server as well */
    public Calibration(Vertx vertx, HttpSettings settings, LongSupplier nanos, Plan plan) {
        this.vertx = vertx;
        this.settings = settings;
        this.nanos = nanos;
        this.plan = plan;
    }

    /** Makes the client as fast as it gets. */
    public void warm() {
        new ClientWarmUp(vertx, settings, nanos).run();
    }

    /** Against a server of this process, whose stamps are known to the nanosecond. */
    public Level againstItself(int streams) {
        try (LoopbackServer server = new LoopbackServer(settings.route(), plan.pace(), nanos)) {
            Level seen = against(server.uri(), streams);
            List<Double> first = new ArrayList<>();
            List<Double> gaps = new ArrayList<>();
            for (RequestRecord record : seen.records()) {
                long[] written = server.stampsOf(FIRST_TOKEN + record.number());
                if (record.isOk() && written.length > 0) {
                    first.add((record.firstToken().orElseThrow() - written[0]) / 1e3);
                    double[] measured = record.tokens().gapsMillis();
                    for (int i = 0; i < Math.min(measured.length, written.length - 1); i++) {
                        gaps.add(Math.abs(measured[i] * 1e3 - (written[i + 1] - written[i]) / 1e3));
                    }
                }
            }
            return seen.with(Misreading.of(first), Misreading.of(gaps));
        }
    }

    /** Against any server; what it wrote when is not known here. */
    public Level against(URI server, int streams) {
        try (EngineClient client = new EngineClient(vertx, server, settings, nanos)) {
            EngineClient.await(client.open(streams), LIMIT, "opening the connections");
            List<Prepared> requests = new ArrayList<>();
            for (int i = 0; i < streams * plan.requestsPerStream(); i++) {
                int[] prompt = new int[plan.promptTokens()];
                Arrays.setAll(prompt, at -> FIRST_TOKEN + at);
                prompt[0] = FIRST_TOKEN + i;
                LoadRequest request = new LoadRequest(Role.FLOOD, 1, prompt, plan.outputTokens());
                requests.add(new Prepared(i, request, Buffer.buffer(settings.body(request))));
            }
            List<RequestRecord> records =
                    EngineClient.await(client.closedLoop(requests, streams), LIMIT, "the calibration");
            ClientHealth health = EngineClient.await(client.health(), LIMIT, "asking the client how it fared");
            long tokens = records.stream()
                    .filter(RequestRecord::isOk)
                    .mapToLong(record -> Arrays.stream(record.tokens().tokens()).sum())
                    .sum();
            Optional<RequestRecord> bad =
                    records.stream().filter(record -> !record.isOk()).findFirst();
            if (tokens == 0 && bad.isPresent()) {
                throw new LoadTestException("No request of the calibration was answered in full, the first because "
                        + bad.get().problem() + "; check the address, the route and the model.");
            }
            return new Level(
                    streams,
                    records,
                    tokens,
                    health.loadNanos() / 1e9,
                    health.loopCpuNanos() / 1e3 / tokens,
                    health.processCpuNanos() / 1e3 / tokens,
                    health.stillNanos() / 1e6,
                    Optional.empty(),
                    Optional.empty());
        }
    }

    /** Error of the client's stamps, in microseconds. */
    public record Misreading(double median, double p99) {
        static Optional<Misreading> of(List<Double> errors) {
            double[] all = errors.stream().mapToDouble(Double::doubleValue).toArray();
            return all.length == 0
                    ? Optional.empty()
                    : Optional.of(new Misreading(Quantiles.of(all, 0.5), Quantiles.of(all, 0.99)));
        }
    }

    /**
     * Measurements at one number of streams.
     *
     * @param seconds that requests were under way
     * @param loopMicros CPU of the client's event loop for each token
     * @param processMicros CPU of the whole process for each token
     * @param stillMillis the longest that the event loop came late
     * @param first how much later than it was written the first token was stamped, where that is known
     * @param gaps by how much a gap between two tokens was measured wrong, where that is known
     */
    public record Level(
            int streams,
            List<RequestRecord> records,
            long tokens,
            double seconds,
            double loopMicros,
            double processMicros,
            double stillMillis,
            Optional<Misreading> first,
            Optional<Misreading> gaps) {
        public Level {
            records = List.copyOf(records);
        }

        Level with(Optional<Misreading> firstTokens, Optional<Misreading> between) {
            return new Level(
                    streams, records, tokens, seconds, loopMicros, processMicros, stillMillis, firstTokens, between);
        }

        public double tokensPerSecond() {
            return tokens / seconds;
        }

        public long failed() {
            return records.stream().filter(record -> !record.isOk()).count();
        }

        /** Median time to the first token, in milliseconds. */
        public OptionalDouble ttftMillis() {
            double[] ttfts = records.stream()
                    .flatMapToDouble(record -> record.ttftMillis().stream())
                    .toArray();
            return ttfts.length == 0 ? OptionalDouble.empty() : OptionalDouble.of(Quantiles.of(ttfts, 0.5));
        }
    }
}
