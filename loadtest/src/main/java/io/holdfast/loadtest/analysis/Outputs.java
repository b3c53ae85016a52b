package io.holdfast.loadtest.analysis;

import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/*
 * The same answers
 * ================
 *
 * Requests are decoded greedily, so the same request has one answer, whatever is cached. An engine that reuses what it
 * should not answers otherwise, and its time to first token says nothing of that. But an engine's arithmetic also
 * depends on what runs beside a request, so even without any hold a few answers differ. Hence answers of pinned legs
 * are held against all that baseline legs gave to the same request, and beside that count stands how often these differ
 * among themselves.
 *
 * Texts that begin with a salt are other texts in each leg, and nothing can be compared.
 */

/** Check that the same requests got the same answers in both arms. */
final class Outputs {
    private record Place(int position, int number) {}

    private final Map<Place, Map<String, Integer>> baseline = new HashMap<>();

    private Outputs() {}

    /** Returns a sentence about the difference, if there is one. */
    static Optional<String> difference(RunHeader header, List<LegRecord> measured) {
        return header.isSalted() ? Optional.empty() : new Outputs().compare(measured);
    }

    private Optional<String> compare(List<LegRecord> measured) {
        for (LegRecord leg : measured) {
            if (leg.arm() == Arm.BASELINE) {
                leg.requests()
                        .forEach(request -> digest(request)
                                .ifPresent(
                                        digest -> baseline.computeIfAbsent(place(leg, request), any -> new HashMap<>())
                                                .merge(digest, 1, Integer::sum)));
            }
        }
        int compared = 0;
        int others = 0;
        for (LegRecord leg : measured) {
            for (RequestRecord request : leg.arm() == Arm.PINNED ? leg.requests() : List.<RequestRecord>of()) {
                Map<String, Integer> known = baseline.getOrDefault(place(leg, request), Map.of());
                Optional<String> digest = digest(request).filter(any -> !known.isEmpty());
                compared += digest.isPresent() ? 1 : 0;
                others += digest.isPresent() && !known.containsKey(digest.get()) ? 1 : 0;
            }
        }
        return others == 0 ? Optional.empty() : Optional.of(sentence(others, compared));
    }

    private String sentence(int others, int compared) {
        int all = 0;
        int unusual = 0;
        for (Map<String, Integer> known : baseline.values()) {
            int sum = known.values().stream().mapToInt(Integer::intValue).sum();
            all += sum;
            unusual += sum
                    - known.values().stream().mapToInt(Integer::intValue).max().orElse(0);
        }
        return others + " of " + compared
                + " answers in pinned legs are none that a baseline leg got to the same request, though both decode"
                + " greedily; among baseline legs " + unusual + " of " + all
                + " answers are not the usual one. Where a hold changes answers, the engine reuses what it should not.";
    }

    private static Place place(LegRecord leg, RequestRecord request) {
        return new Place(leg.position(), request.number());
    }

    private static Optional<String> digest(RequestRecord request) {
        return request.isOk() ? request.output() : Optional.empty();
    }
}
