package io.holdfast.workbench.table;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * One sentence that was published, and what is known about it.
 *
 * @param limit what its author says behind the status, as {@code at high concurrency}; empty where nothing is
 * @param evidence what that rests on, as a place in a table, a journal, or a call with its answer; never empty
 */
public record Claim(
        String claim,
        Status status,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String limit,
        List<String> evidence) {
    private static final String JOURNAL = ".jsonl";
    private static final int MOST_ANSWERS = 3;
    private static final List<String> COLUMNS = List.of("claim", "status", "evidence");

    /** Words that can be said about a claim; there are no others. */
    public enum Status {
        CONFIRMED("Confirmed"),
        /** The measurement is not about the subject of the claim, whatever its number. */
        INVALID("Invalid"),
        /** The effect is also seen where it must not be. */
        SUSPECT("Suspect"),
        /** Seen in both orders, and nobody knows how large it is. */
        DIRECTIONALLY_CORRECT("Directionally correct"),
        LIKELY_REAL("Likely real");

        private final String text;

        Status(String text) {
            this.text = text;
        }

        /** Returns the word of a cell. */
        @JsonValue
        public String text() {
            return text;
        }

        /** Returns the one that a cell begins with. */
        static Optional<Status> named(String text) {
            return Arrays.stream(values())
                    .filter(status -> Pattern.compile(status.text + "\\b.*", Pattern.CASE_INSENSITIVE)
                            .matcher(text)
                            .matches())
                    .findFirst();
        }

        /**
         * Returns the status that two orders allow for an effect, as log ratios; absent where they disagree in their
         * direction, or the size is known well enough to be judged.
         *
         * @param size the interval in which the size of the effect is
         */
        public static Optional<Status> of(double normal, double reversed, Interval size) {
            boolean agree = normal * reversed > 0;
            boolean wide = size.high() - size.low() > Math.abs(normal + reversed) / 2 / 2;
            return agree && wide ? Optional.of(DIRECTIONALLY_CORRECT) : Optional.empty();
        }

        /** Returns the status that a verdict on a gain gives a claim of it; absent where the data cannot tell. */
        public static Optional<Status> of(Verdict verdict) {
            Estimate estimate = verdict.estimate();
            return switch (verdict.finding()) {
                case INVALID -> Optional.of(INVALID);
                case REAL -> Optional.of(CONFIRMED);
                case ORDER_ARTEFACT, NO_EXPOSURE, NO_EFFECT, HARMFUL -> Optional.of(SUSPECT);
                case INCONCLUSIVE ->
                    estimate.ci95()
                            .flatMap(size -> of(
                                    estimate.tauNormal().orElse(Double.NaN),
                                    estimate.tauReversed().orElse(Double.NaN),
                                    size));
            };
        }
    }

    public Claim {
        evidence = List.copyOf(evidence);
        if (claim.isBlank() || evidence.isEmpty()) {
            throw new LoadTestException(
                    "A claim has a sentence and evidence, and '" + claim + "' lacks one of them; write both.");
        }
    }

    /**
     * Reads a ledger: a table with the columns claim, status and evidence; evidence is parted by semicolons. The
     * journal of a run is one of its holds, whose evidence is what was asked of the engine and answered.
     */
    public static List<Claim> read(Path file) {
        return String.valueOf(file.getFileName()).endsWith(JOURNAL)
                ? List.of(ofHolds(file, Journal.read(file)))
                : TableText.rows(file, COLUMNS).stream().map(Claim::of).toList();
    }

    /** A hold that was not made makes of a gain something else than what it is said to be. */
    private static Claim ofHolds(Path file, Journal.Contents run) {
        List<HoldReceipt> asked = run.legs().stream()
                .filter(leg -> leg.isMeasured() && leg.arm() == Arm.PINNED)
                .map(LegRecord::hold)
                .filter(hold -> hold.kind() == HoldReceipt.Kind.HELD || hold.kind() == HoldReceipt.Kind.NOT_HELD)
                .toList();
        if (asked.isEmpty()) {
            throw new LoadTestException("The run of " + file
                    + " requested no hold in a pinned leg, so it is no evidence of one; name the journal of a run"
                    + " that did.");
        }
        long inFull = asked.stream().filter(HoldReceipt::isInFull).count();
        Map<String, Long> answers = asked.stream()
                .collect(Collectors.groupingBy(HoldReceipt::reason, LinkedHashMap::new, Collectors.counting()));
        List<String> evidence = new ArrayList<>();
        evidence.add(String.valueOf(file.getFileName()));
        answers.forEach((answer, count) -> {
            if (evidence.size() <= MOST_ANSWERS) {
                evidence.add(count + " of " + asked.size() + " pinned legs: " + answer);
            }
        });
        if (answers.size() > MOST_ANSWERS) {
            evidence.add("and " + (answers.size() - MOST_ANSWERS) + " more answers");
        }
        return new Claim(
                "what was asked to be held was held, by " + run.header().holder(),
                inFull == asked.size() ? Status.CONFIRMED : Status.INVALID,
                inFull == asked.size() ? "" : inFull + " of " + asked.size() + " pinned legs in full",
                evidence);
    }

    /** Returns the ledger that a table of a document is; absent where it is none. */
    static Optional<List<Claim>> ledger(TableText table) {
        return table.rows(COLUMNS).map(rows -> rows.stream().map(Claim::of).toList());
    }

    private static Claim of(List<String> row) {
        String told = row.get(1);
        Status status = Status.named(told)
                .orElseThrow(() -> new LoadTestException("The claim '" + row.get(0) + "' has the status '" + told
                        + "'; write one of "
                        + Arrays.stream(Status.values()).map(Status::text).collect(Collectors.joining(", "))
                        + "."));
        String limit = told.substring(status.text.length()).replaceFirst("^[\\s,;:-]+", "");
        return new Claim(row.get(0), status, limit, TableText.parts(row.get(2)));
    }
}
