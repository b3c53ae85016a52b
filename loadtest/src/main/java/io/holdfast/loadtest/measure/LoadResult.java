package io.holdfast.loadtest.measure;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Result of one load, no matter what measured it.
 *
 * @param id path-like and stable within a suite, as {@code b2/warm/streaming/1024tok/pass1}
 * @param workload its name, for people
 * @param workloadId SHA-256 over all that was requested; absent where another tool measured and did not report it
 * @param source what measured it, as {@code holdfast 0.2.0} or {@code vllm bench serve}
 * @param settings of the server and of the load, by name, as {@code concurrency} or {@code variant}
 * @param requests all that were planned to be sent
 * @param failures number of requests that were not answered well, by message
 * @param notes what has to be known before the measures are believed, a sentence each
 */
public record LoadResult(
        String id,
        String workload,
        Optional<String> workloadId,
        String source,
        Map<String, String> settings,
        int requests,
        Map<String, Integer> failures,
        Measures measures,
        List<String> notes) {
    private static final String OWN = "holdfast";

    /** A result of which nothing more has to be known. */
    public LoadResult(
            String id,
            String workload,
            Optional<String> workloadId,
            String source,
            Map<String, String> settings,
            int requests,
            Map<String, Integer> failures,
            Measures measures) {
        this(id, workload, workloadId, source, settings, requests, failures, measures, List.of());
    }

    public LoadResult {
        notes = List.copyOf(notes);
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        failures = Collections.unmodifiableMap(new LinkedHashMap<>(failures));
    }

    /** Returns whose number a metric of it is: how this load test measures it, or the tool that measured instead. */
    public String method(Metric metric) {
        return source.startsWith(OWN) ? metric.method() : source;
    }

    /** Requests that were answered well. */
    public int answered() {
        return requests - failures.values().stream().mapToInt(Integer::intValue).sum();
    }
}
