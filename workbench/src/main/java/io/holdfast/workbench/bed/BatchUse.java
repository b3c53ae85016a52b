package io.holdfast.workbench.bed;

import io.holdfast.http.MetricsText;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.workbench.load.BesideLeg;
import io.holdfast.workbench.load.LoadLeg;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The requests that a server runs together while a leg lasts, as its metrics tell them each second. */
public final class BatchUse implements BesideLeg {
    private static final Duration EVERY = Duration.ofSeconds(1);
    private static final List<String> METRICS = List.of("sglang:num_running_reqs", "vllm:num_requests_running");
    private static final String RUNNING = "running";

    private final ConcurrentLinkedQueue<Sample> taken = new ConcurrentLinkedQueue<>();
    private final SampleSource.Reading reading;

    private BatchUse(Supplier<String> metrics, ThreadFactory threads, RunClock clock) {
        long began = clock.nanos();
        this.reading = SampleSource.polled(() -> samples(metrics.get()), EVERY)
                .begin(sample -> taken.add(sample.at((clock.nanos() - began) / 1e6)), threads, clock);
    }

    /**
     * Begins to ask.
     *
     * @param metrics of the server, as they are now; empty where it tells none
     */
    public static BesideLeg begin(Supplier<String> metrics, ThreadFactory threads, RunClock clock) {
        return new BatchUse(metrics, threads, clock);
    }

    private static List<Sample> samples(String metrics) {
        MetricsText page = MetricsText.parse(metrics);
        // A rank of a server with several has a line of its own.
        return METRICS.stream()
                .flatMap(name -> page.sum(name).stream().boxed())
                .map(sum -> new Sample("metrics", "server", 0, Map.of(RUNNING, sum)))
                .toList();
    }

    @Override
    public Map<String, String> ended() {
        reading.close();
        return taken.isEmpty()
                ? Map.of()
                : Map.of(
                        LoadLeg.BATCHES,
                        taken.stream()
                                .map(sample -> Math.round(sample.atMillis() / 1e3) + ":"
                                        + Math.round(sample.values().getOrDefault(RUNNING, 0.0)))
                                .collect(Collectors.joining(" ")));
    }
}
