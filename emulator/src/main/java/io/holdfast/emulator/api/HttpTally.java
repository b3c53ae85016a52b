package io.holdfast.emulator.api;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Counts of the requests to each route and of their answers; belongs to the server's event loops, hence locked. */
public final class HttpTally {
    /** Requests of one kind and what became of them. */
    public record Line(String path, String method, long requests, long open, Map<Integer, Long> responses) {}

    private static final class Count {
        private long requests;
        private long open;
        private final Map<Integer, Long> responses = new TreeMap<>();
    }

    private record Kind(String path, String method) {}

    private final Map<Kind, Count> counts = new LinkedHashMap<>();

    public synchronized void count(Call call) {
        Kind kind = new Kind(call.path(), call.method());
        Count count = counts.computeIfAbsent(kind, _ -> new Count());
        count.requests++;
        count.open++;
        call.whenOver(() -> ended(count, call));
    }

    private synchronized void ended(Count count, Call call) {
        count.open--;
        if (call.response().headWritten()) {
            count.responses.merge(call.response().getStatusCode(), 1L, Long::sum);
        }
    }

    public synchronized List<Line> lines() {
        return counts.entrySet().stream()
                .map(entry -> new Line(
                        entry.getKey().path(),
                        entry.getKey().method(),
                        entry.getValue().requests,
                        entry.getValue().open,
                        new TreeMap<>(entry.getValue().responses)))
                .toList();
    }
}
