package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.measure.FailurePattern;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Findings to look into before a result is believed, the gravest first.
 *
 * @param failures of requests by where they stood; empty where none failed
 */
public record RunFindings(List<Item> all, FailurePattern failures) {
    private static final int MOST_LEGS = 5;

    /** Importance of a finding. */
    public enum Severity {
        /** The result may be about something else than it says. */
        HIGH("High"),
        /** The result can be taken for more than it is. */
        MEDIUM("Medium"),
        /** The test was run in a way that its reader should know. */
        LOW("Low");

        private final String text;

        Severity(String text) {
            this.text = text;
        }

        /** Returns the severity in a word. */
        public String text() {
            return text;
        }
    }

    /**
     * One of them.
     *
     * @param what in a sentence or two
     * @param evidence the legs that show it, by their labels; empty where all of them do
     */
    public record Item(Severity severity, String what, List<String> evidence) {
        public Item {
            evidence = List.copyOf(evidence);
        }
    }

    public RunFindings {
        all = all.stream().sorted(Comparator.comparing(Item::severity)).toList();
    }

    /** Collects the findings of a run. */
    public static RunFindings of(Result result) {
        List<LegRecord> measured =
                result.legs().stream().filter(LegRecord::isMeasured).toList();
        List<Item> all = new ArrayList<>();
        if (result.verdict().finding() == Finding.INVALID) {
            Gates gates = new Gates(result.header());
            all.add(new Item(
                    Severity.HIGH,
                    result.verdict().reason(),
                    labels(measured.stream()
                            .filter(leg -> !gates.failedBy(leg).isEmpty())
                            .toList())));
        }
        FailurePattern failures = failures(measured);
        statuses(measured, all);
        for (String warning : result.verdict().warnings()) {
            all.add(new Item(Severity.MEDIUM, warning, List.of()));
        }
        List<LegRecord> lost = measured.stream()
                .filter(leg -> leg.arm() == Arm.PINNED && leg.release().kind() == ReleaseReceipt.Kind.BROKEN)
                .toList();
        for (String warning : result.warnings()) {
            all.add(new Item(
                    isAboutHolds(result, warning) ? Severity.MEDIUM : Severity.LOW,
                    warning,
                    isAboutHolds(result, warning) ? labels(lost) : List.of()));
        }
        return new RunFindings(all, failures);
    }

    private static boolean isAboutHolds(Result result, String warning) {
        return result.lostHolds().lost() > 0 && warning.contains("did not keep their prefix");
    }

    /** An answer that is empty is no fast answer: it is in no latency, and is told first. */
    private static void statuses(List<LegRecord> measured, List<Item> all) {
        Map<RequestStatus, List<LegRecord>> by = measured.stream()
                .flatMap(leg -> leg.requests().stream()
                        .map(RequestRecord::status)
                        .filter(status -> status != RequestStatus.OK)
                        .distinct()
                        .map(status -> Map.entry(status, leg)))
                .collect(Collectors.groupingBy(
                        Map.Entry::getKey, Collectors.mapping(Map.Entry::getValue, Collectors.toList())));
        by.entrySet().stream().sorted(Map.Entry.comparingByKey()).forEach(entry -> {
            RequestStatus status = entry.getKey();
            long count = entry.getValue().stream()
                    .flatMap(leg -> leg.requests().stream())
                    .filter(request -> request.status() == status)
                    .count();
            all.add(new Item(
                    status == RequestStatus.EMPTY || status == RequestStatus.IMPOSSIBLE
                            ? Severity.HIGH
                            : Severity.MEDIUM,
                    count + (count == 1 ? " request" : " requests") + " ended as " + status + ", in "
                            + entry.getValue().size() + " of " + measured.size()
                            + " legs; none of them is in a latency.",
                    labels(entry.getValue())));
        });
    }

    /** Requests by arm, purpose, place in the life and cycle, each with whether it failed. */
    private static FailurePattern failures(List<LegRecord> measured) {
        return FailurePattern.of(
                List.of("arm", "request", "leg", "cycle"),
                measured.stream()
                        .flatMap(leg -> leg.requests().stream()
                                .map(request -> Map.entry(
                                        List.of(
                                                leg.arm().name().toLowerCase(Locale.ROOT),
                                                request.role().name().toLowerCase(Locale.ROOT),
                                                "leg" + leg.position(),
                                                "cycle" + request.cycle()),
                                        !request.isOk())))
                        .toList());
    }

    private static List<String> labels(List<LegRecord> legs) {
        return Stream.concat(
                        legs.stream().limit(MOST_LEGS).map(LegRecord::label),
                        legs.size() > MOST_LEGS
                                ? Stream.of("and " + (legs.size() - MOST_LEGS) + " more")
                                : Stream.empty())
                .toList();
    }
}
