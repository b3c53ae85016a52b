package io.holdfast.core.budget;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Predicate;
import java.util.function.ToLongFunction;

/**
 * Number of tokens that may be pinned now.
 *
 * @param hardTokens what the hard guard leaves: the bound of requested holds; nothing may be added while it is unknown
 * @param newTokens the bound of what is pinned from now on, at most the hard one: what requests that run need is not
 *     taken from them
 * @param automaticTokens the bound of automatic holds, never above the hard one
 * @param pinnedTokens what is pinned, by our ledger
 * @param foreignTokens what somebody else has pinned, as far as the engine's own numbers show it
 * @param terms every bound that was looked at, the tightest not hidden among them
 * @param alarms what an operator has to know, one sentence each
 */
public record Budget(
        long hardTokens,
        long newTokens,
        long automaticTokens,
        long pinnedTokens,
        long foreignTokens,
        List<Term> terms,
        List<Alarm> alarms) {
    public Budget {
        terms = List.copyOf(terms);
        alarms = List.copyOf(alarms);
    }

    public static final String HARD_GUARD = "hard guard";
    static final String NEW_PINS = "new pins";
    static final String SHARE = "operator's share";
    static final String RESERVE = "room less 8 p90 prompts";
    static final String ROOM = "room beside running requests";

    /** Before anything was computed. */
    public static Budget none() {
        return new Budget(0, 0, 0, 0, 0, List.of(), List.of());
    }

    /**
     * Combines the caches of one engine, each with its own budget: every term is that of the tightest, and unknown
     * where one is.
     */
    public static Budget tightest(List<Budget> budgets) {
        if (budgets.size() == 1) {
            return budgets.getFirst();
        }
        Budget first = budgets.getFirst();
        List<Term> terms = new ArrayList<>();
        for (int i = 0; i < first.terms.size(); i++) {
            int at = i;
            terms.add(budgets.stream()
                    .map(budget -> budget.terms.get(at))
                    .min(Comparator.comparingLong(term -> term.tokens().orElse(Long.MIN_VALUE)))
                    .orElseThrow());
        }
        Map<AlarmKind, Alarm> alarms = new EnumMap<>(AlarmKind.class);
        budgets.forEach(budget -> budget.alarms.forEach(alarm -> alarms.putIfAbsent(alarm.kind(), alarm)));
        return new Budget(
                least(budgets, Budget::hardTokens),
                least(budgets, Budget::newTokens),
                least(budgets, Budget::automaticTokens),
                first.pinnedTokens,
                budgets.stream().mapToLong(Budget::foreignTokens).max().orElse(0),
                terms,
                List.copyOf(alarms.values()));
    }

    private static long least(List<Budget> budgets, ToLongFunction<Budget> number) {
        return budgets.stream().mapToLong(number).min().orElse(0);
    }

    /**
     * Returns the reason why nothing new may be pinned because a bound is unknown; absent when the bounds of new pins
     * are known.
     */
    public Optional<String> hardUnknown() {
        return terms.stream()
                .filter(term -> term.tokens().isEmpty())
                .filter(term -> term.name().equals(HARD_GUARD) || term.name().equals(NEW_PINS))
                .map(Term::why)
                .findFirst();
    }

    /** Returns true if the hard bound is known, so that what stands above it can be released. */
    public boolean knowsHard() {
        return terms.stream()
                .noneMatch(
                        term -> term.name().equals(HARD_GUARD) && term.tokens().isEmpty());
    }

    /** Returns the reason why the automatic bound is unknown; absent when it is known. */
    public Optional<String> automaticUnknown() {
        return terms.stream()
                .filter(term -> term.tokens().isEmpty())
                .map(Term::why)
                .findFirst();
    }

    /** The automatic bound but for its reserve, which depends on what is held. */
    public long automaticBesideReserve() {
        return terms.stream()
                .filter(term -> !term.name().equals(RESERVE))
                .mapToLong(term -> term.tokens().orElse(0))
                .min()
                .orElse(0);
    }

    /** Returns true if automatic holds have to leave room for prompts, as pins that take memory for good have. */
    public boolean leavesRoom() {
        return terms.stream().anyMatch(term -> term.name().equals(ROOM));
    }

    /**
     * Returns what running requests leave of the cache to pins that take memory for good; all of it where pins can be
     * evicted.
     */
    public long room() {
        String name = leavesRoom() ? ROOM : HARD_GUARD;
        return terms.stream()
                .filter(term -> term.name().equals(name))
                .mapToLong(term -> term.tokens().orElse(0))
                .findFirst()
                .orElse(0);
    }

    /** Returns the reason why nothing at all can be pinned hard, and what makes room; absent while something can. */
    public Optional<String> noRoom() {
        return alarms.stream()
                .filter(alarm -> alarm.kind() == AlarmKind.NO_ROOM)
                .map(Alarm::sentence)
                .findFirst();
    }

    /** The arithmetic behind the hard bound. */
    public String hardWhy() {
        return why(term -> term.name().equals(HARD_GUARD));
    }

    /** The arithmetic behind the bound of new pins. */
    public String newWhy() {
        return newTokens < hardTokens
                ? why(term -> (term.name().equals(NEW_PINS) || term.name().equals(SHARE)) && allows(term, newTokens))
                : hardWhy();
    }

    /** The arithmetic behind the automatic bound: its tightest term. */
    public String automaticWhy() {
        return why(term -> term.tokens().isPresent() && term.tokens().getAsLong() <= automaticTokens);
    }

    private static boolean allows(Term term, long tokens) {
        return term.tokens().orElse(0) == tokens;
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

    /** Kinds of alarm about the guard, for an operator. */
    public enum AlarmKind {
        /** The largest request needs the whole cache. */
        NO_ROOM,
        /** A size that the operator wrote is smaller than what was seen. */
        WRITTEN_SIZE_BROKEN,
        /** Somebody else has pinned, or a pin of ours has leaked. */
        FOREIGN_PINS,
        /** Requests waited while nothing ran. */
        STALL
    }

    /** One of them, in a sentence with the mend. */
    public record Alarm(AlarmKind kind, String sentence) {}
}
