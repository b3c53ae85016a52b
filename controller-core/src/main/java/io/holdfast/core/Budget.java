package io.holdfast.core;

import java.util.List;
import java.util.OptionalLong;

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

    /**
     * One bound.
     *
     * @param tokens absent when a reading that it needs is unknown; an unknown bound allows nothing new
     * @param why the arithmetic, in words and numbers
     */
    public record Term(String name, OptionalLong tokens, String why) {}
}
