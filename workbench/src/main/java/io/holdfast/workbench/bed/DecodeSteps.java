package io.holdfast.workbench.bed;

import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Time of a decode step while so many requests decode together: from the gaps between tokens that lie between the last
 * first token and the first last one, so that the batch is full in all of them.
 *
 * @param gaps how many there were
 * @param clientTroubles why the stamps say more of the client than of the server, a clause each
 */
public record DecodeSteps(int batch, int gaps, double medianMillis, double p95Millis, List<String> clientTroubles) {
    private static final int FIRST_TOKEN = 1_000;
    private static final int TOKENS = 29_000;
    private static final int LEAST_GAPS = 4;

    public DecodeSteps {
        clientTroubles = List.copyOf(clientTroubles);
    }

    /**
     * Sends so many requests at once and waits for their answers.
     *
     * @throws LoadTestException when one fails, or the answers are too short to overlap
     */
    public static DecodeSteps measure(
            EngineUnderTest engine, int batch, int promptTokens, int outputTokens, RandomGenerator random) {
        List<LoadRequest> requests = new ArrayList<>();
        for (int i = 0; i < batch; i++) {
            int[] prompt =
                    random.ints(promptTokens, FIRST_TOKEN, FIRST_TOKEN + TOKENS).toArray();
            requests.add(new LoadRequest(Role.PROBE, 0, prompt, outputTokens));
        }
        Load load = engine.prepare(requests);
        load.connect(batch);
        List<RequestRecord> records = load.send(batch, batch);
        return of(batch, records, load.health().map(ClientHealth::troubles).orElse(List.of()));
    }

    static DecodeSteps of(int batch, List<RequestRecord> records, List<String> clientTroubles) {
        records.stream().filter(record -> !record.isOk()).findFirst().ifPresent(record -> {
            throw new LoadTestException("A request of the batch of " + batch + " was not answered: " + record.problem()
                    + "; look into the server's log.");
        });
        long from = records.stream()
                .mapToLong(record -> record.firstToken().orElse(0))
                .max()
                .orElse(0);
        long to = records.stream()
                .mapToLong(record -> record.lastToken().orElse(0))
                .min()
                .orElse(0);
        List<Double> gaps = new ArrayList<>();
        for (RequestRecord record : records) {
            double at = record.firstToken().orElse(0);
            for (double gap : record.tokens().gapsMillis()) {
                boolean whole = at >= from && at + gap * 1e6 <= to + 1_000;
                if (whole) {
                    gaps.add(gap);
                }
                at += gap * 1e6;
            }
        }
        if (gaps.size() < LEAST_GAPS) {
            throw new LoadTestException("Of the batch of " + batch + " only " + gaps.size()
                    + " steps were of all requests together; ask for more tokens, as --output-tokens 256.");
        }
        double[] all = gaps.stream().mapToDouble(Double::doubleValue).toArray();
        return new DecodeSteps(batch, all.length, Quantiles.of(all, 0.5), Quantiles.of(all, 0.95), clientTroubles);
    }
}
