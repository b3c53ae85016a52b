package io.holdfast.loadtest.analysis;

import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Step;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Checks for what is impossible on any engine: such numbers are about a mistake, here or there, and not about latency.
 */
final class Plausibility {
    private static final Set<Step.Kind> ALWAYS = EnumSet.of(Step.Kind.HOLD, Step.Kind.PROBE, Step.Kind.RELEASE);

    private final RunHeader header;

    Plausibility(RunHeader header) {
        this.header = header;
    }

    /** Checks one leg; each failure is a clause that follows the leg's name. */
    List<String> failedBy(LegRecord leg) {
        List<String> failed = new ArrayList<>();
        boolean primed =
                leg.steps().stream().anyMatch(step -> step.kind() == Step.Kind.PRIME || step.kind() == Step.Kind.LEARN);
        Stream.concat(ALWAYS.stream(), primed ? Stream.empty() : Stream.of(Step.Kind.PRIME))
                .filter(kind -> leg.steps().stream().noneMatch(step -> step.kind() == kind))
                .forEach(
                        kind -> failed.add("the step " + kind + " is missing, so the leg did not do what was planned"));
        count(
                leg,
                request ->
                        request.firstToken().isPresent() && request.ttftMillis().isEmpty(),
                "had the first token no later than they were sent, which cannot be: the clock or the client is wrong",
                failed);
        count(
                leg,
                request -> request.firstToken().isEmpty(),
                "are said to be answered and have no first token",
                failed);
        count(
                leg,
                request -> request.promptTokens().isPresent()
                        && request.cachedTokens().orElse(0)
                                > Math.max(0, request.promptTokens().getAsInt() - 1),
                "are said to have more prompt tokens cached than any engine can have (the last is always computed), so"
                        + " its usage cannot be believed",
                failed);
        count(
                leg,
                request -> request.sentTokens().isPresent()
                        && request.promptTokens().isPresent()
                        && request.promptTokens().getAsInt()
                                != request.sentTokens().getAsInt(),
                "were sent as token ids and have another number of prompt tokens by the engine's count, so it did not"
                        + " answer what was sent",
                failed);
        return failed;
    }

    private static void count(LegRecord leg, Predicate<RequestRecord> cannotBe, String what, List<String> failed) {
        long count = leg.requests().stream()
                .filter(RequestRecord::isOk)
                .filter(cannotBe)
                .count();
        if (count > 0) {
            failed.add(count + " of " + leg.requests().size() + " requests " + what);
        }
    }

    /** Finds contradictions between legs: the same request has the same prompt tokens, no matter who counts them. */
    List<String> failedAmong(List<LegRecord> legs) {
        if (header.isSalted()) {
            // Salts are as long as each other in tokens that we count, and in no tokenizer's.
            return List.of();
        }
        List<String> failed = new ArrayList<>();
        for (int position = 1; position <= header.measuredLegsOfALife(); position++) {
            Map<Integer, Integer> known = new TreeMap<>();
            for (LegRecord leg : legs) {
                if (leg.position() == position) {
                    leg.requests().stream()
                            .filter(request ->
                                    request.isOk() && request.promptTokens().isPresent())
                            .filter(request -> !known.computeIfAbsent(
                                            request.number(),
                                            number -> request.promptTokens().getAsInt())
                                    .equals(request.promptTokens().getAsInt()))
                            .findFirst()
                            .ifPresent(request -> failed.add("Request " + request.number() + " of " + leg.label()
                                    + " has "
                                    + request.promptTokens().getAsInt() + " prompt tokens by the engine's count, and "
                                    + known.get(request.number())
                                    + " in another leg, although the same was sent."));
                }
            }
        }
        return failed.isEmpty() ? failed : failed.subList(0, 1);
    }
}
