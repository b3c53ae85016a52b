package io.holdfast.workbench.load;

import io.holdfast.loadtest.journal.CacheEvents;
import io.holdfast.loadtest.journal.ClientHealth;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.Slo;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * All that is known of one load leg.
 *
 * @param id path-like, as {@code b2/warm/streaming/1024tok/pass1}
 * @param load its name
 * @param loadId SHA-256 over all that was planned to be sent
 * @param bodies SHA-256 over the bodies of all requests
 * @param settings of the server and of the load, by name
 * @param startedAt date and time in UTC
 * @param notes what whoever ran it found out beside, by name: how long it cooled down, what a cache was checked to hold
 * @param client how the client fared; absent where nobody watched it
 * @param problem why it ended early, if it did
 */
public record LoadLeg(
        String id,
        String load,
        String loadId,
        String bodies,
        Map<String, String> settings,
        String startedAt,
        List<Part> parts,
        Map<String, String> notes,
        Optional<ClientHealth> client,
        Optional<String> problem) {
    /** The name of the note that says in a sentence that more was found in the cache than the leg had put there. */
    public static final String WARM = "warm";

    /** The name of the note that says in a sentence that prompts were not as long as they were to be. */
    public static final String LENGTHS = "lengths";

    /** The name of the note that has the requests that the server ran together, as {@code 0:3 1:8}, by seconds. */
    public static final String BATCHES = "batches";

    /**
     * Results of a part.
     *
     * @param began in nanoseconds since the leg began, like all stamps of it
     */
    public record Part(String name, boolean measured, long began, long ended, List<RequestRecord> requests) {
        public Part {
            requests = List.copyOf(requests);
        }
    }

    public LoadLeg {
        settings = Collections.unmodifiableMap(new LinkedHashMap<>(settings));
        notes = Collections.unmodifiableMap(new LinkedHashMap<>(notes));
        parts = List.copyOf(parts);
    }

    /** Requests that are in the figures. */
    public List<RequestRecord> measured() {
        return parts.stream()
                .filter(Part::measured)
                .flatMap(part -> part.requests().stream())
                .toList();
    }

    /** Requests of the part of that name; none where there is no such part. */
    public List<RequestRecord> of(String part) {
        return parts.stream()
                .filter(each -> each.name().equals(part))
                .flatMap(each -> each.requests().stream())
                .toList();
    }

    /** Returns how many requests of all parts were under way at a time, in nanoseconds since the leg began. */
    public long underWay(long nanos) {
        return parts.stream()
                .flatMap(part -> part.requests().stream())
                .filter(request -> request.sent() <= nanos && nanos < request.done())
                .count();
    }

    /** Counts requests that were not answered well, by kind and message. */
    public Map<String, Integer> failures() {
        Map<String, Integer> failures = new LinkedHashMap<>();
        measured().stream()
                .filter(request -> !request.isOk())
                .map(request ->
                        request.status() == RequestStatus.EMPTY ? "EMPTY" : request.status() + ": " + request.problem())
                .forEach(what -> failures.merge(what, 1, Integer::sum));
        return failures;
    }

    /** Returns the result of the leg. */
    public LoadResult result(String source, List<Double> percentiles, Optional<Slo> slo) {
        return new LoadResult(
                id,
                load,
                Optional.of(loadId),
                source,
                settings,
                measured().size(),
                failures(),
                CacheEvents.of(notes, "")
                        .map(events -> Measures.of(measured(), percentiles, slo).with(events))
                        .orElseGet(() -> Measures.of(measured(), percentiles, slo)),
                Stream.of(WARM, LENGTHS)
                        .flatMap(name -> Stream.ofNullable(notes.get(name)))
                        .toList());
    }

    /** Returns the leg with other requests in each of its parts. */
    public LoadLeg withRequests(Function<Part, List<RequestRecord>> requests) {
        List<Part> others = parts.stream()
                .map(part -> new Part(part.name, part.measured, part.began, part.ended, requests.apply(part)))
                .toList();
        return new LoadLeg(id, load, loadId, bodies, settings, startedAt, others, notes, client, problem);
    }

    /** Returns the leg with more notes. */
    public LoadLeg withNotes(Map<String, String> more) {
        Map<String, String> all = new LinkedHashMap<>(notes);
        all.putAll(more);
        return new LoadLeg(id, load, loadId, bodies, settings, startedAt, parts, all, client, problem);
    }
}
