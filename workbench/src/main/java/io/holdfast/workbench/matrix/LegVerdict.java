package io.holdfast.workbench.matrix;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.workbench.load.LoadLeg;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Verdict on whether a leg can be counted.
 *
 * @param reasons a clause each
 * @param flagged whether it is something to look into, and not only to know
 */
public record LegVerdict(String id, Word word, List<String> reasons, boolean flagged) {
    /** An answer that its model ended early is sound if it is longer than that. */
    private static final int SHORT = 32;

    /** In a word. */
    public enum Word {
        OK,
        /** It counts, and there is something to know of it. */
        WARN,
        /** A request of it was not answered, or with nothing. */
        FAIL,
        /** It was not what it claims to be. */
        INVALID
    }

    public LegVerdict {
        reasons = List.copyOf(reasons);
    }

    /** The verdict on a leg from its data alone. */
    public static LegVerdict of(LoadLeg leg) {
        List<String> failed = failed(leg);
        if (!failed.isEmpty()) {
            return new LegVerdict(leg.id(), Word.FAIL, failed, true);
        }
        Optional<String> broken = brokenState(leg);
        if (broken.isPresent()) {
            return new LegVerdict(leg.id(), Word.INVALID, List.of("cache_state: " + broken.get()), true);
        }
        return warned(leg);
    }

    /** Returns true if each request was answered with something. */
    public boolean counts() {
        return word == Word.OK || word == Word.WARN;
    }

    private static List<String> failed(LoadLeg leg) {
        List<String> failed = new ArrayList<>();
        leg.problem().ifPresent(failed::add);
        for (RequestRecord request : leg.measured()) {
            if (request.status() == RequestStatus.EMPTY || isBlank(request)) {
                failed.add("request " + request.number() + " is EMPTY");
            } else if (!request.isOk()) {
                failed.add("request " + request.number() + " is " + request.status() + ": " + request.problem());
            }
        }
        if (leg.measured().isEmpty() && failed.isEmpty()) {
            failed.add("nothing was sent");
        }
        return failed;
    }

    private static boolean isBlank(RequestRecord request) {
        return request.isOk() && request.problem().equals("its answer is blank");
    }

    private static Optional<String> brokenState(LoadLeg leg) {
        return CacheState.named(leg.settings().getOrDefault(CacheMatrix.STATE, ""))
                .flatMap(state -> state.broken(leg.measured(), number(leg.settings(), CacheMatrix.PAGE)));
    }

    private static LegVerdict warned(LoadLeg leg) {
        int wanted = number(leg.settings(), CacheMatrix.ANSWER);
        List<String> reasons = new ArrayList<>();
        boolean flagged = false;
        for (RequestRecord request : leg.measured()) {
            int tokens = request.completionTokens().orElse(wanted);
            if (tokens < wanted) {
                reasons.add("request " + request.number() + " ended after " + tokens + " of " + wanted + " tokens");
                flagged |= tokens <= SHORT;
            }
            if (!request.problem().isEmpty()) {
                reasons.add("request " + request.number() + ": " + request.problem());
                flagged = true;
            }
        }
        if (leg.settings().containsKey(CacheMatrix.STATE) && !CacheState.isTold(leg.measured())) {
            reasons.add("the server does not tell cached tokens, so nobody checked where they were");
        }
        return new LegVerdict(leg.id(), reasons.isEmpty() ? Word.OK : Word.WARN, reasons, flagged);
    }

    private static int number(Map<String, String> settings, String name) {
        return Integer.parseInt(settings.getOrDefault(name, "0"));
    }
}
