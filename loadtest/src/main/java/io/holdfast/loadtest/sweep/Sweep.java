package io.holdfast.loadtest.sweep;

import io.holdfast.evidence.DoseResponse;
import io.holdfast.evidence.Finding;
import io.holdfast.evidence.LinearFit;
import io.holdfast.evidence.Verdict;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.Step;
import io.holdfast.loadtest.workload.Role;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;

/*
 * What levels say together
 * ========================
 *
 * Each level is judged separately: a hold may win at one load and have nothing to win at another, and a verdict on both
 * together would be one on neither. Three things go from level to level. The p values, since who asks at five levels
 * has five chances of an error (Holm). The effect over memory pressure: what kept cache saves comes with a full cache,
 * or grows with pressure, and is gone with memory to spare (DoseResponse has the rules). And the baseline alone, which
 * has to become slower with pressure before anything can be won.
 *
 * Levels of equal values are replicates: how far they lie apart is what another server process does, and whatever
 * differs by less than that between levels is no finding.
 */

/**
 * The levels of a sweep, each with its own verdict, and what they say together.
 *
 * @param levels those that have data, in their order
 * @param doseResponse the effect over memory pressure; absent where no pressure is known
 * @param baseline the logarithm of the baseline's time over that of the pressure
 * @param cliff of what the server serves in baseline legs, in tokens a second
 * @param notes what a reader has to know, a sentence each
 */
public record Sweep(
        SweepPlan plan,
        List<Level> levels,
        Optional<DoseResponse> doseResponse,
        Optional<LinearFit> baseline,
        List<Replicates> replicates,
        Optional<Cliff> cliff,
        List<String> notes) {
    private static final double NANOS = 1e9;

    public Sweep {
        levels = List.copyOf(levels);
        replicates = List.copyOf(replicates);
        notes = List.copyOf(notes);
    }

    /**
     * One level with its verdict.
     *
     * @param result with what the other levels say of it
     * @param alone the verdict by its own pairs
     * @param tokensASecond that the server took and gave in the floods of baseline legs
     */
    public record Level(
            SweepPlan.Level planned, Result result, Verdict alone, Pressure pressure, OptionalDouble tokensASecond) {
        /** Its effect for the others; absent where the pressure is not known, or there is no effect to be had. */
        public Optional<DoseResponse.Level> dose() {
            return Sweep.dose(planned, result, pressure);
        }

        /** Returns true where the memory has room to spare, by declaration or by measure: kept cache can win nothing. */
        public boolean isPlacebo() {
            return planned.placebo() || pressure.ratio().orElse(Double.MAX_VALUE) <= DoseResponse.MOST_PLACEBO_PRESSURE;
        }

        /** Returns the verdict by the level's own pairs, in brackets; empty where it is the same. */
        public String beside() {
            return alone.headline().equals(result.verdict().headline())
                    ? ""
                    : " (" + alone.headline() + " by its own pairs alone)";
        }
    }

    /** Judges a sweep from the journals in its folder alone. */
    public static Sweep of(Path folder) {
        SweepPlan plan = SweepPlan.read(folder);
        List<SweepPlan.Level> measured = plan.levels().stream()
                .filter(level -> Files.exists(folder.resolve(level.journal())))
                .toList();
        List<Journal.Contents> runs = measured.stream()
                .map(level -> Journal.read(folder.resolve(level.journal())))
                .toList();
        return of(plan, measured, runs);
    }

    private static Sweep of(SweepPlan plan, List<SweepPlan.Level> measured, List<Journal.Contents> runs) {
        List<Result> alone = runs.stream().map(Analysis::of).toList();
        List<Pressure> pressures = new ArrayList<>();
        List<DoseResponse.Level> doses = new ArrayList<>();
        for (int i = 0; i < alone.size(); i++) {
            SweepPlan.Level level = measured.get(i);
            Pressure pressure = Pressure.of(alone.get(i).header(), level.values());
            pressures.add(pressure);
            dose(level, alone.get(i), pressure).ifPresent(doses::add);
        }
        Optional<DoseResponse> doseResponse = doses.isEmpty() ? Optional.empty() : Optional.of(new DoseResponse(doses));
        List<Level> levels = new ArrayList<>();
        for (int i = 0; i < alone.size(); i++) {
            List<Double> others = new ArrayList<>();
            for (int other = 0; other < alone.size(); other++) {
                if (other != i) {
                    alone.get(other)
                            .metrics()
                            .forEach(metric -> others.add(
                                    metric.verdict().estimate().tPValue().orElse(1)));
                }
            }
            levels.add(new Level(
                    measured.get(i),
                    Analysis.of(runs.get(i), new Analysis.Beside(others, doseResponse)),
                    alone.get(i).verdict(),
                    pressures.get(i),
                    tokensASecond(alone.get(i))));
        }
        return new Sweep(
                plan,
                levels,
                doseResponse,
                baseline(levels),
                Replicates.of(levels.stream()
                        .filter(level -> level.result().baseline().ttftMillis().isPresent()
                                && level.result().pinned().ttftMillis().isPresent())
                        .map(level -> new Replicates.Measured(
                                level.planned().name(),
                                level.result().baseline().ttftMillis().getAsDouble(),
                                level.result().pinned().ttftMillis().getAsDouble()))
                        .toList()),
                Cliff.of(levels.stream()
                        .filter(level -> level.tokensASecond().isPresent())
                        .map(level -> new Cliff.Point(
                                level.planned().name(), level.tokensASecond().getAsDouble()))
                        .toList()),
                notes(plan, levels, doseResponse));
    }

    private static Optional<DoseResponse.Level> dose(SweepPlan.Level planned, Result result, Pressure pressure) {
        return pressure.ratio().isEmpty() || result.verdict().finding() == Finding.INVALID
                ? Optional.empty()
                : DoseResponse.Level.of(pressure.ratio().getAsDouble(), result.estimate())
                        .map(dose -> planned.placebo() ? dose.asPlacebo() : dose);
    }

    private static List<String> notes(SweepPlan plan, List<Level> levels, Optional<DoseResponse> doseResponse) {
        List<String> notes = new ArrayList<>();
        if (levels.size() < plan.levels().size()) {
            notes.add("The sweep has " + levels.size() + " of " + plan.levels().size()
                    + " levels; go on with it by --resume.");
        }
        levels.forEach(level -> level.pressure()
                .correction()
                .ifPresent(what -> notes.add("At " + level.planned().name() + " " + what + ".")));
        doseResponse.ifPresentOrElse(
                sweep -> notes.addAll(sweep.lacks()),
                () -> notes.add(
                        levels.stream()
                                        .anyMatch(level ->
                                                level.pressure().ratio().isPresent())
                                ? "No level has pairs enough to say how its effect depends on the pressure on the"
                                        + " cache."
                                : "The pressure on the cache is not known, since the server does not tell its capacity,"
                                        + " so whether the effect grows with it is not either."));
        if (levels.stream()
                .anyMatch(level -> level.planned().placebo()
                        && level.pressure().ratio().orElse(0) > DoseResponse.MOST_PLACEBO_PRESSURE)) {
            notes.add("The placebo was declared, although its pressure is above " + DoseResponse.MOST_PLACEBO_PRESSURE
                    + ".");
        }
        return notes;
    }

    private static Optional<LinearFit> baseline(List<Level> levels) {
        List<Level> known = levels.stream()
                .filter(level -> level.pressure().ratio().isPresent()
                        && level.result().baseline().ttftMillis().orElse(0) > 0)
                .toList();
        return LinearFit.of(
                known.stream()
                        .mapToDouble(level -> Math.log(level.pressure().ratio().orElseThrow()))
                        .toArray(),
                known.stream()
                        .mapToDouble(level ->
                                Math.log(level.result().baseline().ttftMillis().orElseThrow()))
                        .toArray());
    }

    /** Returns the tokens a second that the server takes and gives in baseline legs while it is flooded. */
    private static OptionalDouble tokensASecond(Result result) {
        double tokens = 0;
        double nanos = 0;
        for (LegRecord leg : result.legs()) {
            if (leg.isMeasured() && leg.arm() == Arm.BASELINE) {
                for (RequestRecord request : leg.requests()) {
                    if (request.role() == Role.FLOOD && request.isOk()) {
                        tokens += request.promptTokens().orElse(0)
                                + request.completionTokens().orElse(0);
                    }
                }
                for (Step step : leg.steps()) {
                    nanos += step.kind() == Step.Kind.FLOOD ? step.ended() - step.began() : 0;
                }
            }
        }
        return tokens > 0 && nanos > 0 ? OptionalDouble.of(tokens * NANOS / nanos) : OptionalDouble.empty();
    }

    /** Returns true if every level of the plan has its verdict. */
    public boolean isWhole() {
        return levels.size() == plan.levels().size();
    }
}
