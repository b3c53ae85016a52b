package io.holdfast.loadtest.analysis;

import io.holdfast.loadtest.journal.EngineShare;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;

/*
 * A zero that is not told
 * =======================
 *
 * vLLM before 0.32 and SGLang's OpenAI routes send the count of cached tokens only where it is not 0. The legs that
 * matter most, those that lost their prefix, then say nothing. A server that has sent the field for some answer has it
 * to send, so where it leaves it out of an answer with usage it means 0. A server that never sent it may not count at
 * all, and one that sends zeros leaves it out for another reason: there a missing field stays unknown, unless, of the
 * latter, the counters prove it.
 *
 * The proof. The server's own counters of cached tokens, read before and after each leg, include all that the leg was
 * answered. Where they counted what the answers told, and no block more, every count that was left out is 0, no matter
 * who else asked meanwhile. Where they counted more, although nothing else was asked, the rule is refuted for this
 * server, and nothing is taken for 0.
 */

/** Legs in which a count of cached tokens that the server left out is 0, where that may be concluded. */
public final class UntoldZeros {
    private final List<LegRecord> legs;
    private final Optional<String> note;

    private UntoldZeros(List<LegRecord> legs, Optional<String> note) {
        this.legs = List.copyOf(legs);
        this.note = note;
    }

    /** Examines the legs of one run. */
    public static UntoldZeros of(RunHeader header, List<LegRecord> legs) {
        long told = legs.stream()
                .flatMap(UntoldZeros::all)
                .filter(request -> request.cachedTokens().isPresent())
                .count();
        long untold = legs.stream()
                .flatMap(UntoldZeros::all)
                .filter(UntoldZeros::isUntold)
                .count();
        if (told == 0 || untold == 0) {
            return new UntoldZeros(legs, Optional.empty());
        }
        int page = header.engine().pageTokensOrUsual();
        Optional<LegRecord> against =
                legs.stream().filter(leg -> proof(leg, page) == Proof.AGAINST).findFirst();
        if (against.isPresent()) {
            return new UntoldZeros(
                    legs,
                    Optional.of(String.format(
                            Locale.ROOT,
                            "The server left the count of cached tokens out of %,d answers, and in %s its own counters"
                                    + " found %,d cached tokens more than the answers told: what it leaves out is not"
                                    + " 0, so these counts stay unknown.",
                            untold,
                            against.get().label(),
                            excess(against.get()).orElse(0))));
        }
        boolean tellsZeros = legs.stream()
                .flatMap(UntoldZeros::all)
                .anyMatch(request -> request.cachedTokens().orElse(1) == 0);
        long incomplete = legs.stream()
                .filter(leg -> all(leg).anyMatch(UntoldZeros::isUntold))
                .count();
        long proven = legs.stream()
                .filter(leg -> all(leg).anyMatch(UntoldZeros::isUntold) && proof(leg, page) == Proof.FOR)
                .count();
        if (tellsZeros && proven < incomplete) {
            return new UntoldZeros(legs, Optional.empty());
        }
        List<LegRecord> whole = new ArrayList<>();
        legs.forEach(leg ->
                whole.add(leg.withRequests(request -> isUntold(request) ? request.withCachedTokens(0) : request)));
        return new UntoldZeros(
                whole,
                Optional.of(String.format(
                        Locale.ROOT,
                        "The server left the count of cached tokens out of %,d answers and told it in %,d%s, so 0 was"
                                + " taken there; %s.",
                        untold,
                        told,
                        tellsZeros ? "" : ", never 0: it leaves out what is 0",
                        inWords(proven, incomplete))));
    }

    private static String inWords(long proven, long incomplete) {
        if (proven == incomplete) {
            return "its own counters prove it, which found no more in the cache than the answers told, in each of "
                    + incomplete + " legs";
        }
        String rest = "since they were not read, a request failed, or somebody else asked the server meanwhile";
        return proven == 0
                ? "no counters of its own prove it in any of " + incomplete + " legs, " + rest
                : "its own counters prove it in " + proven + " of " + incomplete
                        + " legs, and in the others they cannot, " + rest;
    }

    /** The legs, with these zeros. */
    public List<LegRecord> legs() {
        return legs;
    }

    /** Returns a sentence with the conclusion and its proof; absent where every count was told, or no count. */
    Optional<String> note() {
        return note;
    }

    /** Returns the note where it concerns a probe: reports say nothing about the counts of other requests. */
    Optional<String> noteOfProbes() {
        return note.filter(sentence -> legs.stream()
                .flatMap(leg -> leg.probes().stream())
                .anyMatch(probe -> probe.isOk() && probe.cachedTokens().orElse(0) == 0));
    }

    /** Verdict of a leg's counters about the rule. */
    private enum Proof {
        FOR,
        AGAINST,
        NONE
    }

    private static Proof proof(LegRecord leg, int page) {
        OptionalLong excess = excess(leg);
        if (excess.isEmpty() || !Shares.isWhole(leg)) {
            return Proof.NONE;
        }
        if (Math.abs(excess.getAsLong()) < page) {
            return Proof.FOR;
        }
        return excess.getAsLong() > 0 && Shares.isOfThisLegAlone(leg) ? Proof.AGAINST : Proof.NONE;
    }

    /** Returns the tokens that the counters found beyond the answers' counts; absent where nobody counted. */
    private static OptionalLong excess(LegRecord leg) {
        if (leg.shares().isEmpty()
                || leg.shares().stream().anyMatch(share -> share.cachedTokens().isEmpty())) {
            return OptionalLong.empty();
        }
        long counted = leg.shares().stream()
                .map(EngineShare::cachedTokens)
                .mapToLong(OptionalLong::orElseThrow)
                .sum();
        return OptionalLong.of(counted
                - all(leg).mapToLong(request -> request.cachedTokens().orElse(0))
                        .sum());
    }

    /** An answer without any usage tells nothing by what it has not. */
    private static boolean isUntold(RequestRecord request) {
        return request.isOk()
                && request.promptTokens().isPresent()
                && request.cachedTokens().isEmpty();
    }

    private static Stream<RequestRecord> all(LegRecord leg) {
        return Stream.concat(leg.requests().stream(), leg.own().stream());
    }
}
