package io.holdfast.loadtest.table;

import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.LoadTestException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * One sentence that was published, and what is known about it.
 *
 * @param evidence what that rests on, as a place in a table, a journal, or a call with its answer; never empty
 */
public record Claim(String claim, Status status, List<String> evidence) {
    /** All that can be said about a claim; there are no other words. */
    public enum Status {
        CONFIRMED("Confirmed"),
        /** What was measured is not what the claim is about, whatever its number. */
        INVALID("Invalid"),
        /** The same is seen where it must not be. */
        SUSPECT("Suspect"),
        /** Seen in both orders, and nobody knows how large it is. */
        DIRECTIONALLY_CORRECT("Directionally correct"),
        LIKELY_REAL("Likely real");

        private final String text;

        Status(String text) {
            this.text = text;
        }

        public String text() {
            return text;
        }

        static Optional<Status> named(String text) {
            return Arrays.stream(values())
                    .filter(status -> status.text.equalsIgnoreCase(text.strip()))
                    .findFirst();
        }

        /**
         * What two orders allow to say of an effect, as log ratios; absent where they disagree in their direction, or the
         * size is known well enough to be judged.
         *
         * @param size the interval in which the size of the effect is
         */
        public static Optional<Status> of(double normal, double reversed, Interval size) {
            boolean agree = normal * reversed > 0;
            boolean wide = size.high() - size.low() > Math.abs(normal + reversed) / 2 / 2;
            return agree && wide ? Optional.of(DIRECTIONALLY_CORRECT) : Optional.empty();
        }

        /** What a verdict on a gain makes of a claim of it; absent where the data cannot tell. */
        public static Optional<Status> of(Verdict verdict) {
            Estimate estimate = verdict.estimate();
            return switch (verdict.finding()) {
                case INVALID -> Optional.of(INVALID);
                case REAL -> Optional.of(CONFIRMED);
                case ORDER_ARTEFACT, NO_EXPOSURE, NO_EFFECT, HARMFUL -> Optional.of(SUSPECT);
                case INCONCLUSIVE ->
                    estimate.tauNormal().isPresent()
                                    && estimate.tauReversed().isPresent()
                                    && estimate.ci95().isPresent()
                            ? of(
                                    estimate.tauNormal().getAsDouble(),
                                    estimate.tauReversed().getAsDouble(),
                                    estimate.ci95().get())
                            : Optional.empty();
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

    /** Reads a ledger: a table with the columns claim, status and evidence; evidence is parted by semicolons. */
    public static List<Claim> read(Path file) {
        return WordTable.read(file, List.of("claim", "status", "evidence")).stream()
                .map(row -> new Claim(
                        row.get(0),
                        Status.named(row.get(1))
                                .orElseThrow(() -> new LoadTestException("The claim '" + row.get(0) + "' of " + file
                                        + " has the status '" + row.get(1) + "'; write one of "
                                        + Arrays.stream(Status.values())
                                                .map(Status::text)
                                                .collect(Collectors.joining(", "))
                                        + ".")),
                        WordTable.parts(row.get(2))))
                .toList();
    }
}
