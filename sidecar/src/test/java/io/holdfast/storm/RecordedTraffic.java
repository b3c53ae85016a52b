package io.holdfast.storm;

import io.holdfast.core.hold.HoldState;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Requests of a public trace in virtual time, at the moments at which they were made, beside a real controller and the engine's
 * rules: whether what a replay of them promises comes true.
 */
final class RecordedTraffic {
    private static final int PAGE = 16;
    private static final int CONTEXT = 131_072;
    private static final int LONGEST_ANSWER = 4_096;

    private final Timeline time = new Timeline();
    private final StormOracle oracle = new StormOracle(time, false);
    private final VirtualEngine engine;
    private final StormProcess sidecar;
    private long found;
    private long blocks;
    private int failed;
    private int answered;
    private int whole;
    private int mostHeld;

    private RecordedTraffic(int capacityTokens, Way way) {
        SglangSettings settings = SglangSettings.defaults()
                .withSizes(capacityTokens, PAGE, CONTEXT)
                .withMaxRunning(1_024)
                .withVariant(way == Way.SESSION_HOLD ? Variant.STOCK : Variant.PIN_GPU)
                .withSessions(way == Way.SESSION_HOLD);
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

    private void run(List<TraceRequest> requests) {
        long begin = time.now();
        for (TraceRequest request : requests) {
            time.runUntil(begin + request.millis() * Timeline.MILLI);
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

    private void send(TraceRequest request) {
        engine.submit(new Generation(
                request.prompt(),
                RequestOptions.of(Math.max(1, request.answerTokens())),
                false,
                time.now(),
                new TokenListener() {
                    private boolean counted;

                    @Override
                    public void token(int token, int count, int cached, boolean last) {
                        if (!counted) {
                            counted = true;
                            found += cached / PAGE;
                            // Of a prompt that is all there the last token is computed.
                            whole += cached >= (request.promptTokens() - 1) / PAGE * PAGE ? 1 : 0;
                            blocks += request.promptTokens() / PAGE;
                        }
                        answered += last ? 1 : 0;
                    }

                    @Override
                    public void failed(String message) {
                        failed++;
                    }
                }));
    }

    /** Prints what was found with and without holds: trace, minutes, capacity in tokens, way. */
    public static void main(String[] args) throws IOException {
        List<TraceRequest> requests = TraceRequest.read(Path.of(args[0]), Double.parseDouble(args[1]));
        for (Way way : new Way[] {Way.DRY_RUN, Way.valueOf(args[3])}) {
            RecordedTraffic run = new RecordedTraffic(Integer.parseInt(args[2]), way);
            run.run(requests);
            System.out.printf(
                    Locale.ROOT,
                    "%s: %.2f %% of %d blocks found, %d answered, %d failed, at most %d held, %s, %d found all of"
                            + " their prompt %s%n",
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
                    run.whole,
                    run.oracle.failures().values());
        }
    }
}
