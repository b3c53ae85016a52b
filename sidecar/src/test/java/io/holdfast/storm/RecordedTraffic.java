package io.holdfast.storm;

import io.holdfast.core.hold.HoldState;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.zip.GZIPInputStream;

/**
 * Requests of a public trace in virtual time, at the moments at which they were made, beside a real controller and the engine's
 * rules: whether what a replay of them promises comes true.
 */
final class RecordedTraffic {
    private static final int TRACE_BLOCK = 512;
    private static final int PAGE = 16;
    private static final int CONTEXT = 131_072;
    private static final int LONGEST_ANSWER = 4_096;

    /** One request, as Mooncake writes them. */
    private static final class Sent {
        private final long millis;
        private final int promptTokens;
        private final int answerTokens;
        private final int[] blocks;

        Sent(long millis, int promptTokens, int answerTokens, int[] blocks) {
            this.millis = millis;
            this.promptTokens = promptTokens;
            this.answerTokens = answerTokens;
            this.blocks = blocks;
        }

        int[] prompt() {
            int[] tokens = new int[promptTokens];
            for (int i = 0; i < promptTokens; i++) {
                tokens[i] = blocks[i / TRACE_BLOCK] * TRACE_BLOCK + i % TRACE_BLOCK;
            }
            return tokens;
        }
    }

    private final Timeline time = new Timeline();
    private final StormOracle oracle = new StormOracle(time, false);
    private final VirtualEngine engine;
    private final StormProcess sidecar;
    private long found;
    private long blocks;
    private int failed;
    private int answered;
    private int mostHeld;

    private RecordedTraffic(int capacityTokens, Way way) {
        SglangSettings settings = new SglangSettings(
                capacityTokens,
                PAGE,
                CONTEXT,
                1_024,
                8_192,
                way == Way.SESSION_HOLD ? Variant.STOCK : Variant.PIN_GPU,
                Eviction.LRU,
                way == Way.SESSION_HOLD,
                0,
                0.5);
        engine = new VirtualEngine("engine", time, settings, new Speed(6.25, 10_000, 30_000, 1), oracle);
        sidecar = new StormProcess(
                "sidecar",
                time,
                new SplittableRandom(1),
                oracle,
                engine,
                new StormSidecar.Written(
                        Duration.ofMillis(100), true, Duration.ofMinutes(5), way, LONGEST_ANSWER, true, CONTEXT / 2),
                0);
        sidecar.start();
        pass(Duration.ofSeconds(3));
    }

    private void pass(Duration duration) {
        time.runUntil(time.now() + duration.toNanos());
    }

    private void run(List<Sent> requests) {
        long begin = time.now();
        for (Sent request : requests) {
            time.runUntil(begin + request.millis * Timeline.MILLI);
            send(request);
            mostHeld = Math.max(mostHeld, (int) held());
        }
        pass(Duration.ofMinutes(2));
    }

    private long held() {
        return sidecar.sidecar().orElseThrow().view().holds().stream()
                .filter(hold -> hold.state() == HoldState.HELD)
                .count();
    }

    private void send(Sent request) {
        engine.submit(new Generation(
                request.prompt(),
                RequestOptions.of(Math.max(1, request.answerTokens)),
                false,
                time.now(),
                new TokenListener() {
                    private boolean counted;

                    @Override
                    public void token(int token, int count, int cached, boolean last) {
                        if (!counted) {
                            counted = true;
                            found += cached / PAGE;
                            blocks += request.promptTokens / PAGE;
                        }
                        answered += last ? 1 : 0;
                    }

                    @Override
                    public void failed(String message) {
                        failed++;
                    }
                }));
    }

    private static List<Sent> read(Path trace, double minutes) throws IOException {
        List<Sent> requests = new ArrayList<>();
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(new GZIPInputStream(Files.newInputStream(trace)), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                JsonObject json = new JsonObject(line);
                JsonArray ids = json.getJsonArray("hash_ids");
                int[] blocks = new int[ids.size()];
                for (int i = 0; i < blocks.length; i++) {
                    blocks[i] = ids.getInteger(i);
                }
                if (json.getLong("timestamp") >= minutes * 60_000) {
                    break;
                }
                requests.add(new Sent(
                        json.getLong("timestamp"),
                        json.getInteger("input_length"),
                        json.getInteger("output_length"),
                        blocks));
            }
        }
        return requests;
    }

    /** Prints what was found with and without holds: trace, minutes, capacity in tokens, way. */
    public static void main(String[] args) throws IOException {
        List<Sent> requests = read(Path.of(args[0]), Double.parseDouble(args[1]));
        for (Way way : new Way[] {Way.DRY_RUN, Way.valueOf(args[3])}) {
            RecordedTraffic run = new RecordedTraffic(Integer.parseInt(args[2]), way);
            run.run(requests);
            System.out.printf(
                    Locale.ROOT,
                    "%s: %.2f %% of %d blocks found, %d answered, %d failed, at most %d held, %s %s%n",
                    way,
                    100.0 * run.found / run.blocks,
                    run.blocks,
                    run.answered,
                    run.failed,
                    run.mostHeld,
                    run.sidecar.sidecar().orElseThrow().view().byRank().why() + ", requests seen "
                            + run.sidecar
                                    .sidecar()
                                    .orElseThrow()
                                    .view()
                                    .counters()
                                    .visibleRequests(),
                    run.oracle.failures().values());
        }
    }
}
