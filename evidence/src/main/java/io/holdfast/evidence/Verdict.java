package io.holdfast.evidence;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/**
 * Statement that the data of one experiment allows, with its reason.
 *
 * @param shortfall what is lacking, when the finding is INCONCLUSIVE
 * @param reason one sentence with the numbers that decided
 * @param withOrderBias whether the order of the legs alone moves the value by as much as an effect that matters
 * @param flags what is odd about the experiment; each has its sentence among the warnings
 * @param warnings sentences that the reader must know and that did not decide
 * @param requiredPerOrder pairs of each order that a repetition needs, when more would help
 * @param estimate the numbers, printed whatever the finding
 */
public record Verdict(
        Finding finding,
        Optional<Shortfall> shortfall,
        String reason,
        boolean withOrderBias,
        Set<Flag> flags,
        List<String> warnings,
        OptionalInt requiredPerOrder,
        Estimate estimate) {
    public Verdict {
        flags = Set.copyOf(flags);
        warnings = List.copyOf(warnings);
    }

    /** The finding in a few words: {@code REAL with order bias}, {@code INCONCLUSIVE(precision)}. */
    public String headline() {
        return finding
                + shortfall.map(lacking -> "(" + lacking.label() + ")").orElse("")
                + (withOrderBias ? " with order bias" : "");
    }

    /** The gravest of several verdicts, the first of equals: what all primary metrics together allow us to say. */
    public static Verdict worst(List<Verdict> verdicts) {
        return verdicts.stream()
                .reduce((worst, next) -> next.finding.isWorseThan(worst.finding) ? next : worst)
                .orElseThrow(() -> new IllegalArgumentException(
                        "There is no verdict to choose from; judge at least one primary metric."));
    }
}
