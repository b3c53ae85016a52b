package io.holdfast.core;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;

/**
 * How many tokens may be pinned now.
 *
 * @param hardTokens what the hard guard leaves: the bound of requested holds; nothing may be added while it is unknown
 * @param automaticTokens the bound of automatic holds, never above the hard one
 * @param pinnedTokens what is pinned, by our ledger
 * @param terms every bound that was looked at, the tightest not hidden among them
 */
public record Budget(long hardTokens, long automaticTokens, long pinnedTokens, List<Term> terms) {
    public Budget {
        terms = List.copyOf(terms);
    }

    static final String HARD_GUARD = "hard guard";

    /** Why the hard bound is unknown; absent when it is known. */
    Optional<String> hardUnknown() {
        return terms.stream()
                .filter(term -> term.name().equals(HARD_GUARD) && term.tokens().isEmpty())
                .map(Term::why)
                .findFirst();
    }

    /** Why the automatic bound is unknown; absent when it is known. */
    Optional<String> automaticUnknown() {
        return terms.stream()
                .filter(term -> term.tokens().isEmpty())
                .map(Term::why)
                .findFirst();
    }

    /** The arithmetic behind the hard bound. */
    String hardWhy() {
        return why(term -> term.name().equals(HARD_GUARD));
    }

    /** The arithmetic behind the automatic bound: its tightest term. */
    String automaticWhy() {
        return why(term -> term.tokens().isPresent() && term.tokens().getAsLong() <= automaticTokens);
    }

    private String why(Predicate<Term> chosen) {
        return terms.stream().filter(chosen).map(Term::why).findFirst().orElse("no bound was computed yet");
    }

    /**
     * One bound.
     *
     * @param tokens absent when a reading that it needs is unknown; an unknown bound allows nothing new
     * @param why the arithmetic, in words and numbers
     */
    public record Term(String name, OptionalLong tokens, String why) {}
}
