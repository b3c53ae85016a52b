package io.holdfast.sidecar.view;

import io.holdfast.core.Traffic;
import io.holdfast.core.prefix.Demand;
import io.holdfast.core.prefix.Lengths;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * Conditions under which holds pay, or moving memory between engines does, each with whether it is met here.
 *
 * @param pressure blocks are evicted before they are used again
 * @param models several engines of this host take memory from one pool, as far as kvcached's segments tell
 * @param lengths prompts are of different lengths
 */
public record Conditions(Condition pressure, Condition models, Condition lengths) {
    /** Share of all reuses below which those that come too late are chance. */
    private static final double LATE_BY_CHANCE = 0.02;
    /** A cache that has removed nothing for so long is not short of room; for less, nobody knows. */
    private static final Duration LONG_ENOUGH = Duration.ofMinutes(30);

    private static final int FEW_PROMPTS = 20;
    private static final double VARYING = 2;

    /** Answer to one condition. */
    public enum Answer {
        YES,
        NO,
        UNKNOWN
    }

    /**
     * One of them.
     *
     * @param why one clause with the numbers
     */
    public record Condition(Answer answer, String why) {}

    /**
     * Judges by measurements.
     *
     * @param capacityTokens of the cache; empty where the engine does not tell
     * @param segments how many kvcached segments this host has; empty where the engine is on another one
     */
    public static Conditions of(Traffic traffic, OptionalDouble capacityTokens, OptionalInt segments) {
        return new Conditions(pressure(traffic, capacityTokens), models(segments), lengths(traffic.lengths()));
    }

    private static Condition pressure(Traffic traffic, OptionalDouble capacity) {
        Optional<Duration> residence = traffic.residence().median();
        String demand = demand(traffic.demand(), capacity);
        if (traffic.sharing().lost() > 0) {
            return new Condition(
                    Answer.YES,
                    String.format(
                            Locale.ROOT,
                            "of %,d requests that share a prefix %,d found it lost, wholly or in part%s",
                            traffic.sharing().found() + traffic.sharing().lost(),
                            traffic.sharing().lost(),
                            demand));
        }
        if (residence.isEmpty()) {
            boolean longEnough = traffic.span().compareTo(LONG_ENOUGH) >= 0;
            return new Condition(
                    longEnough ? Answer.NO : Answer.UNKNOWN,
                    "no untouched block was removed for want of room in the "
                            + traffic.span().toSeconds() + " s that were seen"
                            + (longEnough ? "" : ", and half an hour tells") + demand);
        }
        if (traffic.lateReuse().isEmpty()) {
            return new Condition(
                    Answer.UNKNOWN, "blocks were removed, and no prefix was seen to be used twice yet" + demand);
        }
        double late = traffic.lateReuse().getAsDouble();
        return new Condition(
                late > LATE_BY_CHANCE ? Answer.YES : Answer.NO,
                String.format(
                        Locale.ROOT,
                        "%.0f %% of the reuses come later than half of the untouched blocks stay, which is %.1f s%s",
                        100 * late,
                        residence.get().toMillis() / 1e3,
                        demand));
    }

    private static String demand(Demand demand, OptionalDouble capacity) {
        if (demand.prompts() == 0) {
            return "";
        }
        return String.format(
                Locale.ROOT,
                "; %s %,d tokens%s%s",
                demand.prompts() == 1
                        ? "1 prompt at a time asks for"
                        : String.format(Locale.ROOT, "%,d prompts at once ask for", demand.prompts()),
                demand.sharedOnce(),
                capacity.isPresent() && capacity.getAsDouble() > 0
                        ? String.format(
                                Locale.ROOT,
                                ", %.0f %% of the cache",
                                100 * demand.sharedOnce() / capacity.getAsDouble())
                        : "",
                demand.eachInFull() == demand.sharedOnce()
                        ? ""
                        : String.format(Locale.ROOT, " (%,d if none were shared)", demand.eachInFull()));
    }

    private static Condition models(OptionalInt segments) {
        if (segments.isEmpty()) {
            return new Condition(
                    Answer.UNKNOWN, "the engine is on another machine, whose kvcached segments are not seen from here");
        }
        int count = segments.getAsInt();
        return new Condition(
                count > 1 ? Answer.YES : Answer.NO,
                count == 0
                        ? "no engine of this machine shares its memory through kvcached"
                        : count == 1
                                ? "one engine of this machine shares its memory through kvcached, and no other"
                                : count + " engines of this machine share their memory through kvcached");
    }

    private static Condition lengths(Lengths lengths) {
        if (lengths.prompts() < FEW_PROMPTS) {
            return new Condition(
                    Answer.UNKNOWN, "only " + lengths.prompts() + " prompts were measured, " + FEW_PROMPTS + " tell");
        }
        return new Condition(
                lengths.ninetieth() >= VARYING * lengths.median() ? Answer.YES : Answer.NO,
                String.format(
                        Locale.ROOT,
                        "half of the prompts have at most %,d tokens, nine in ten at most %,d",
                        lengths.median(),
                        lengths.ninetieth()));
    }

    /** Returns the conclusion for each of both, as a sentence. */
    public String advice() {
        return holds() + " " + moves();
    }

    private String holds() {
        return switch (pressure.answer) {
            case YES -> "Holds can pay, since the cache is short of room.";
            case NO -> "Holds cannot pay, since the cache is not short of room.";
            case UNKNOWN -> "Whether holds can pay is not known yet.";
        };
    }

    private String moves() {
        if (models.answer == Answer.NO) {
            return "Moving memory between engines cannot: there are not several that share it.";
        }
        boolean one = pressure.answer == Answer.YES || lengths.answer == Answer.YES;
        if (one && models.answer == Answer.YES) {
            return "Moving memory between engines can: several share it, and "
                    + (pressure.answer == Answer.YES ? "this cache is short of room" : "the lengths of prompts vary")
                    + ".";
        }
        return models.answer == Answer.YES && pressure.answer == Answer.NO && lengths.answer == Answer.NO
                ? "Moving memory between engines cannot: no cache is short of room, and the lengths of prompts are"
                        + " alike."
                : "Whether moving memory between engines can is not known.";
    }

    /** Returns the JSON of a reading: a number with its source, or the reason why there is none. */
    static Reading demand(Traffic traffic, long tokens, long nanos) {
        return traffic.demand().prompts() == 0
                ? Reading.unknown("no request was under way in the last minute whose prompt was seen")
                : Reading.known(
                        (double) tokens,
                        "the last " + traffic.demand().prompts()
                                + " prompts, as many as were under way at once in the last minute",
                        nanos);
    }
}
