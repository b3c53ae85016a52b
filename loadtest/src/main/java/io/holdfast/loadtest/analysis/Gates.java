package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Step;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The conditions without which a measurement is not about what it claims to be about. Each one that fails is a sentence
 * and makes the experiment invalid.
 */
public final class Gates {
    private static final double MOST_ERRORS = 0.01;
    private static final double TOKEN_TOLERANCE = 0.01;
    private static final long NANOS = 1_000_000;
    private static final String NO_PROBE = "no probe was answered";

    private static final Set<ReleaseReceipt.Kind> HELD_TO_THE_END =
            EnumSet.of(ReleaseReceipt.Kind.RELEASED, ReleaseReceipt.Kind.BROKEN, ReleaseReceipt.Kind.UNANSWERED);

    private final RunHeader header;
    private final Surroundings surroundings;
    private final Plausibility plausibility;

    public Gates(RunHeader header) {
        this.header = header;
        this.surroundings = new Surroundings(header);
        this.plausibility = new Plausibility(header);
    }

    /** Returns the gates that a measured leg fails on its own. */
    public List<String> failedBy(LegRecord leg) {
        return Stream.concat(integrity(leg).stream(), surroundings(leg).stream())
                .toList();
    }

    /**
     * Returns the failures of the leg's surroundings, which say nothing about what the leg is: a call longer than its
     * slot, a machine that was late, requests that got no answer. The arm of the leg plays no part.
     */
    public List<String> surroundings(LegRecord leg) {
        List<String> failed = new ArrayList<>();
        if (leg.problem().isPresent()) {
            leg.problem().filter(why -> !isOfTheServer(leg, why)).ifPresent(failed::add);
        } else {
            holdStepTime(leg, failed);
            leftOpen(leg, failed);
            requests(leg, failed);
            ownRequests(leg, failed);
            failed.addAll(surroundings.failedBy(leg));
        }
        return labelled(leg, failed);
    }

    /** The others: after one of these no repetition of the leg would be what was planned. */
    public List<String> integrity(LegRecord leg) {
        List<String> failed = new ArrayList<>();
        if (leg.problem().isPresent()) {
            leg.problem().filter(why -> isOfTheServer(leg, why)).ifPresent(failed::add);
        } else {
            holdStep(leg, failed);
            firstAfterHold(leg, failed);
            outputs(leg, failed);
            failed.addAll(plausibility.failedBy(leg));
        }
        serverLog(leg, failed);
        if (!leg.workloadId().equals(header.workload().id())) {
            failed.add("it ran another workload than the experiment's");
        }
        return labelled(leg, failed);
    }

    /** Returns true if the pair of this leg may run again: the leg fails, and only by its surroundings. */
    public boolean isRepeatable(LegRecord leg) {
        return integrity(leg).isEmpty() && !surroundings(leg).isEmpty();
    }

    private static List<String> labelled(LegRecord leg, List<String> failed) {
        return failed.stream()
                .map(why -> "In " + leg.label() + " " + why + (why.endsWith(".") ? "" : "."))
                .toList();
    }

    /** Returns true if the problem that ended a leg would end it again. */
    private static boolean isOfTheServer(LegRecord leg, String problem) {
        return problem.startsWith(LegRecord.ANOTHER_SERVER)
                || problem.startsWith(LegRecord.RESTARTED)
                || problem.startsWith(LegRecord.PROMPT_MISMATCH)
                || leg.requests().stream().anyMatch(request -> request.status() == RequestStatus.EMPTY);
    }

    private boolean isLongerThanItsSlot(LegRecord leg) {
        return leg.holdNanos() > header.slotMillis() * NANOS;
    }

    /**
     * Checks the outcome of the hold step. A call that was cut off is not judged: nobody knows what it would have done.
     */
    private void holdStep(LegRecord leg, List<String> failed) {
        if (leg.arm() == Arm.PINNED && leg.hold().kind() == HoldReceipt.Kind.NOT_HELD && isLongerThanItsSlot(leg)) {
            return;
        }
        if (leg.arm() == Arm.PINNED) {
            if (!header.claimsHold() && leg.hold().kind() != HoldReceipt.Kind.SWITCHED) {
                failed.add("nothing was switched on: " + leg.hold().reason());
            } else if (header.claimsHold() && !leg.hold().isInFull()) {
                failed.add("the prefix was not held in full (%d of %d blocks): %s"
                        .formatted(
                                leg.hold().heldBlocks(),
                                leg.hold().wantedBlocks(),
                                leg.hold().reason()));
            } else if (!HELD_TO_THE_END.contains(leg.release().kind())) {
                failed.add("the hold did not last to the end of the leg: "
                        + leg.release().reason());
            }
        } else if (leg.hold().kind() != HoldReceipt.Kind.SHAM
                || !(leg.release().kind() == ReleaseReceipt.Kind.SHAM || isUnanswered(leg))) {
            failed.add("the sham of the hold step was skipped, so the arms did not do the same: "
                    + leg.hold().reason());
        }
    }

    private static boolean isUnanswered(LegRecord leg) {
        return leg.release().kind() == ReleaseReceipt.Kind.UNANSWERED;
    }

    /** Fails a hold that was not ended where nobody empties the cache, since it takes cache from the legs after it. */
    private void leftOpen(LegRecord leg, List<String> failed) {
        if (isUnanswered(leg) && leg.arm() == Arm.PINNED && header.isSalted()) {
            failed.add("the hold could not be ended (" + leg.release().reason()
                    + "), and the cache is not emptied before the next leg");
        }
    }

    /** Ends that were not answered, and what ended the holds all the same. */
    Optional<String> unanswered(List<LegRecord> legs) {
        List<LegRecord> open = legs.stream().filter(Gates::isUnanswered).toList();
        return open.stream()
                .findFirst()
                .map(first ->
                        "The end of the hold step's work was not answered in " + open.size() + " of " + legs.size()
                                + " legs, first in " + first.label() + " ("
                                + first.release().reason() + "); "
                                + (header.isSalted()
                                        ? "where that was a hold, the pair is no part of the figures."
                                        : "what was still held ended with the flush before the next leg."));
    }

    /**
     * Checks that the first request of a load that follows the hold at once finds what is held: nothing could have been
     * lost in between, so a request that does not find it asks for something else.
     */
    private void firstAfterHold(LegRecord leg, List<String> failed) {
        boolean floods = leg.steps().stream().anyMatch(step -> step.kind() == Step.Kind.FLOOD);
        if (leg.arm() != Arm.PINNED || leg.hold().kind() != HoldReceipt.Kind.HELD || floods) {
            return;
        }
        int page = header.engine().pageTokensOrUsual();
        long held = Math.min(leg.hold().heldTokens(), header.workload().prefixTokens());
        leg.probes().stream()
                .min(Comparator.comparingLong(RequestRecord::sent))
                .filter(RequestRecord::isOk)
                .filter(first ->
                        first.cachedTokens().isPresent() && first.cachedTokens().getAsInt() < held - page)
                .ifPresent(first -> failed.add(String.format(
                        Locale.ROOT,
                        "pin_not_hit: the first request after the hold found %d tokens in the cache, and of its prefix"
                                + " %d are held, so what is held is not what the load asks for",
                        first.cachedTokens().getAsInt(),
                        held)));
    }

    private void holdStepTime(LegRecord leg, List<String> failed) {
        if (isLongerThanItsSlot(leg)) {
            failed.add("the hold step's call took %d ms, longer than its slot of %d ms%s; use a longer slot"
                    .formatted(
                            leg.holdNanos() / NANOS,
                            header.slotMillis(),
                            leg.hold().kind() == HoldReceipt.Kind.NOT_HELD
                                    ? " (" + leg.hold().reason() + ")"
                                    : ""));
        } else {
            slot(leg, failed);
        }
    }

    /**
     * The load must begin equally long after the flush in both arms, so every slot has to be as long as was planned.
     */
    private void slot(LegRecord leg, List<String> failed) {
        leg.steps().stream()
                .filter(step -> step.kind() == Step.Kind.HOLD)
                .mapToLong(step -> step.ended() - step.began())
                .filter(length -> Math.abs(length - header.slotMillis() * NANOS) > header.toleranceMillis() * NANOS)
                .forEach(length -> failed.add(String.format(
                        Locale.ROOT,
                        "the hold step took %.1f ms where its slot is %d ms, a settle difference of %+.1f ms; at most"
                                + " %d ms are allowed, so use a machine with less other load",
                        length / 1e6,
                        header.slotMillis(),
                        length / 1e6 - header.slotMillis(),
                        header.toleranceMillis())));
    }

    private static void requests(LegRecord leg, List<String> failed) {
        List<RequestRecord> bad = leg.requests().stream()
                .filter(request -> !request.isOk() && request.status() != RequestStatus.EMPTY)
                .toList();
        if (bad.size() > MOST_ERRORS * leg.requests().size()) {
            failed.add("%d of %d requests failed, the first because %s"
                    .formatted(
                            bad.size(),
                            leg.requests().size(),
                            bad.getFirst().status() + ": " + bad.getFirst().problem()));
        }
        boolean silent = leg.probes().stream().allMatch(bad::contains);
        if (!leg.probes().isEmpty() && silent) {
            failed.add(NO_PROBE);
        }
    }

    private static void outputs(LegRecord leg, List<String> failed) {
        long empty = leg.requests().stream()
                .filter(request -> request.status() == RequestStatus.EMPTY)
                .count();
        if (empty > 0) {
            failed.add("%d of %d requests came back without any output"
                    .formatted(empty, leg.requests().size()));
        }
        boolean answered =
                leg.probes().stream().anyMatch(probe -> probe.isOk() || probe.status() == RequestStatus.EMPTY);
        if (leg.probeMillis().isEmpty() && (answered || leg.probes().isEmpty())) {
            failed.add(NO_PROBE);
        }
    }

    /** An engine that failed at something has not done what the leg was to measure, whatever it answered. */
    private static void serverLog(LegRecord leg, List<String> failed) {
        leg.serverLog()
                .filter(log -> log.errorLines() > 0)
                .ifPresent(log -> failed.add("the server's log tells of an error, in " + lines(log.errorLines()) + ": "
                        + quoted(log.errors())));
    }

    /** Describes what the server wrote that is no error but tells how it fared. */
    static Optional<String> shortages(List<LegRecord> legs) {
        List<LegRecord> told = legs.stream()
                .filter(leg ->
                        leg.serverLog().filter(log -> log.shortageLines() > 0).isPresent())
                .toList();
        int count = told.stream()
                .mapToInt(leg -> leg.serverLog().orElseThrow().shortageLines())
                .sum();
        return told.stream()
                .findFirst()
                .map(first -> "The server put running requests back for lack of memory in " + told.size() + " of "
                        + legs.size() + " legs, by " + lines(count) + " of its log, first in " + first.label() + ": "
                        + quoted(first.serverLog().orElseThrow().shortages()) + ".");
    }

    private static String lines(int count) {
        return count == 1 ? "1 line" : count + " lines";
    }

    private static String quoted(List<String> lines) {
        return lines.stream().map(line -> "'" + line + "'").collect(Collectors.joining(" and, last, "));
    }

    /** A hold is made of these where there are any, so a single one that failed leaves a gap in it. */
    private static void ownRequests(LegRecord leg, List<String> failed) {
        List<RequestRecord> bad =
                leg.own().stream().filter(request -> !request.isOk()).toList();
        if (!bad.isEmpty()) {
            failed.add("%d of the %d requests that the arm sent itself failed, the first because %s"
                    .formatted(
                            bad.size(),
                            leg.own().size(),
                            bad.getFirst().status() + ": " + bad.getFirst().problem()));
        }
    }

    /** The gates that compare the measured legs with each other. */
    List<String> failedAmong(List<LegRecord> legs) {
        List<String> failed = new ArrayList<>();
        profiled(header).ifPresent(failed::add);
        List<LegRecord> whole =
                legs.stream().filter(leg -> leg.problem().isEmpty()).toList();
        if (whole.stream().map(Gates::steps).distinct().count() > 1) {
            failed.add("The legs did not take the same steps.");
        }
        for (int position = 1; position <= header.measuredLegsOfALife(); position++) {
            int at = position;
            if (whole.stream()
                            .filter(leg -> leg.position() == at)
                            .map(LegRecord::bodies)
                            .distinct()
                            .count()
                    > 1) {
                failed.add("The arms did not send the same requests as leg " + position + " of a pair.");
            }
        }
        completionTokens(whole, failed);
        failed.addAll(plausibility.failedAmong(whole));
        lives(legs, failed);
        return failed;
    }

    /** A profiler takes of the time that it measures, and not the same of each stage. */
    static Optional<String> profiled(RunHeader header) {
        return header.test()
                .profiler()
                .map(by -> "The legs were profiled: the server ran under '" + by
                        + "', so its times include the profiler's and nothing is judged by them; leave"
                        + " --server-wrapper out to judge.");
    }

    private static List<String> steps(LegRecord leg) {
        return leg.steps().stream()
                .map(step -> step.kind() + " " + step.cycle())
                .toList();
    }

    private static void completionTokens(List<LegRecord> legs, List<String> failed) {
        Map<Arm, OptionalDouble> means = new EnumMap<>(Arm.class);
        for (Arm arm : Arm.values()) {
            means.put(arm, completionTokens(legs, leg -> leg.arm() == arm));
        }
        double baseline =
                means.getOrDefault(Arm.BASELINE, OptionalDouble.empty()).orElse(0);
        double pinned = means.getOrDefault(Arm.PINNED, OptionalDouble.empty()).orElse(0);
        if (baseline > 0 && pinned > 0 && Math.abs(pinned / baseline - 1) > TOKEN_TOLERANCE) {
            failed.add(String.format(
                    Locale.ROOT,
                    "The arms generated different numbers of tokens: %.2f per request in baseline legs, %.2f in"
                            + " pinned.",
                    baseline,
                    pinned));
        }
    }

    /** Returns what these gates could not look at, one sentence each: an unknown is not a pass. */
    List<String> unknownAmong(List<LegRecord> legs) {
        List<String> unknown = new ArrayList<>();
        for (Arm arm : Arm.values()) {
            List<LegRecord> of = legs.stream().filter(leg -> leg.arm() == arm).toList();
            if (of.stream().flatMap(leg -> leg.requests().stream()).anyMatch(RequestRecord::isOk)
                    && completionTokens(of, leg -> true).isEmpty()) {
                unknown.add("The engine did not tell how many tokens it generated in "
                        + (arm == Arm.PINNED ? "pinned" : "baseline")
                        + " legs, so whether both arms generated as many is unknown.");
            }
        }
        return unknown;
    }

    private static OptionalDouble completionTokens(List<LegRecord> legs, Predicate<LegRecord> chosen) {
        return legs.stream()
                .filter(chosen)
                .flatMap(leg -> leg.requests().stream())
                .filter(RequestRecord::isOk)
                .flatMapToInt(request -> request.completionTokens().stream())
                .average();
    }

    private void lives(List<LegRecord> legs, List<String> failed) {
        List<PairOrder> planned = header.plan().lives();
        boolean asPlanned = legs.stream()
                .allMatch(leg -> leg.life() <= planned.size()
                        && leg.order() == planned.get(leg.life() - 1)
                        && leg.arm() == Arm.of(leg.order(), leg.position()));
        if (!asPlanned) {
            failed.add("The legs did not run in the order of the plan.");
        }
    }
}
