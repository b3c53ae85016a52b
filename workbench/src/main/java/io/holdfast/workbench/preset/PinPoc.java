package io.holdfast.workbench.preset;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.workload.PinSharedPrompt;
import io.holdfast.loadtest.workload.Workload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/*
 * The pin benchmark
 * =================
 *
 * Somebody ran baseline legs first and pinned legs second, once, and saw 20 to 67 % less time to the first token. The
 * plan of the rerun: at a concurrency at which nothing should be evicted (32) and at one that is said to be beyond the
 * cache (64), A/A, the normal order and the reversed one, and the normal one three times more.
 *
 * What it lacks. One pair of each order has no interval, and three repetitions of one order repeat its bias three
 * times. So the steps can have more pairs each (four are the least that can decide), and then each concurrency has a
 * verdict of its own by all of its A/A, normal and reversed pairs. The steps run one after the other, not in random
 * rounds, so a drift of the day falls on one of them; `loadtest ab` does better.
 *
 * What it may not show at all. The system prompt is part of every request, and as many are under way all the time as
 * the concurrency says: what a running request uses no engine evicts, held or not. NO_EXPOSURE is then the answer.
 */

/** The seven steps of the pin benchmark, what they send, and what is made of them. */
public final class PinPoc {
    /** Suspected of showing nothing but order, and said to be beyond the cache. */
    private static final List<Integer> CONCURRENCIES = List.of(32, 64);

    /** The most that a warm-up of the benchmark might take. */
    public static final Duration WARM_UP_LIMIT = Duration.ofSeconds(60);

    private static final int REPETITIONS = 3;
    private static final Duration PAUSE = Duration.ofSeconds(1);
    /** Both arms wait so long before the load, whatever the pin takes of it. */
    private static final Duration SETTLE = Duration.ofSeconds(2);

    private PinPoc() {}

    /** Purpose of a step. */
    public enum Kind {
        AA_CONTROL("baseline twice", Design.CONTROLS),
        NORMAL_ORDER("baseline, then pinned", Design.NORMAL),
        REVERSED_ORDER("pinned, then baseline", Design.REVERSED),
        MULTI_REP("baseline, then pinned, three times", Design.NORMAL);

        private final String text;
        private final Design design;

        Kind(String text, Design design) {
            this.text = text;
            this.design = design;
        }

        public String text() {
            return text;
        }

        public Design design() {
            return design;
        }
    }

    /**
     * One step.
     *
     * @param number from 1
     * @param sweep that it is a level of; empty of most
     * @param level of that sweep; where the server is started, also a value for a name in braces of its command
     */
    public record Step(
            int number, Kind kind, int concurrency, int pairs, String name, Optional<Sweep> sweep, String level) {

        private Step(int number, Kind kind, int concurrency, int pairs) {
            this(
                    number,
                    kind,
                    concurrency,
                    pairs,
                    kind.name().toLowerCase(Locale.ROOT) + "_conc" + concurrency,
                    Optional.empty(),
                    "");
        }

        /** The file that has its result, of a sweep together with those of its other levels. */
        public String file() {
            return sweep.map(Sweep::file).orElse(name + ".json");
        }

        /** Values for names in braces of the server's command. */
        public Map<String, String> values() {
            return sweep.filter(Sweep.MEMORY::equals).isPresent() ? Map.of(Sweep.MEMORY.parameter(), level) : Map.of();
        }

        /** Returns true if the verdict on its concurrency rests on it. */
        boolean isOfAVerdict() {
            return kind != Kind.MULTI_REP
                    && number <= 2 * Design.CROSSOVER.round().size();
        }

        /** Its journal, which is kept apart from the results. */
        public String journal() {
            return number + "-" + name + ".jsonl";
        }
    }

    /** Parameter that the benchmark swept over, one pair in the normal order at each level. */
    public enum Sweep {
        CONCURRENCY("concurrency_sweep.json", "concurrency"),
        MEMORY("memory_pressure_sweep.json", "mem-fraction");

        private final String file;
        private final String parameter;

        Sweep(String file, String parameter) {
            this.file = file;
            this.parameter = parameter;
        }

        public String file() {
            return file;
        }

        public String parameter() {
            return parameter;
        }

        private List<String> levels() {
            return this == CONCURRENCY
                    ? List.of("4", "8", "16", "32", "64")
                    : List.of("0.05", "0.08", "0.12", "0.20", "0.40");
        }
    }

    /**
     * Further steps that the benchmark had before, each a pair in the normal order.
     *
     * @param steps those before them
     * @param single whether one run by itself is among them
     */
    public static List<Step> with(List<Step> steps, boolean single, List<Sweep> sweeps) {
        List<Step> all = new ArrayList<>(steps);
        int usual = CONCURRENCIES.getFirst();
        if (single) {
            all.add(new Step(all.size() + 1, Kind.NORMAL_ORDER, usual, 1, "single_run", Optional.empty(), ""));
        }
        for (Sweep sweep : sweeps) {
            for (String level : sweep.levels()) {
                all.add(new Step(
                        all.size() + 1,
                        Kind.NORMAL_ORDER,
                        sweep == Sweep.CONCURRENCY ? Integer.parseInt(level) : usual,
                        1,
                        sweep.parameter() + "_" + level,
                        Optional.of(sweep),
                        level));
            }
        }
        return all;
    }

    /**
     * The seven steps in their order.
     *
     * @param pairs of each but the last, which has three
     */
    public static List<Step> steps(int pairs) {
        if (pairs < 1) {
            throw new LoadTestException("A step has at least one pair, not " + pairs + ".");
        }
        List<Step> steps = new ArrayList<>();
        for (Kind kind : List.of(Kind.AA_CONTROL, Kind.NORMAL_ORDER, Kind.REVERSED_ORDER)) {
            for (int concurrency : CONCURRENCIES) {
                steps.add(new Step(steps.size() + 1, kind, concurrency, pairs));
            }
        }
        steps.add(new Step(steps.size() + 1, Kind.MULTI_REP, CONCURRENCIES.getLast(), REPETITIONS));
        return steps;
    }

    /** Returns the workload that a step sends. */
    public static Workload workload(Step step, long seed, PinSharedPrompt.Sizes sizes) {
        return PinSharedPrompt.workload(seed, sizes, step.concurrency());
    }

    /** Returns the settings with which a step runs. */
    public static LoadTestPlan settings(Step step, long seed, boolean burnIn, int repeatPairs) {
        return LoadTestPlan.defaults().toBuilder()
                .design(step.kind().design())
                .rounds(step.pairs())
                .seed(seed)
                .concurrency(step.concurrency())
                .burnIn(burnIn)
                .statistic(Statistic.PROBE_MEAN)
                .holdSlot(SETTLE)
                .repeatPairs(repeatPairs)
                .pauseAfterFlush(PAUSE)
                .build();
    }

    /**
     * The verdict on one concurrency by all of its A/A, normal and reversed pairs.
     *
     * @param runs those three, in any order; absent when one of them has another number of pairs or is not there
     */
    public static Optional<Result> verdict(List<Journal.Contents> runs) {
        List<LegRecord> legs = new ArrayList<>();
        List<List<PairOrder>> rounds = new ArrayList<>();
        int pairs = runs.isEmpty() ? 0 : runs.getFirst().wholePairs();
        if (runs.size() != Design.CROSSOVER.round().size()
                || pairs == 0
                || runs.stream().anyMatch(run -> run.wholePairs() != pairs)) {
            return Optional.empty();
        }
        for (int pair = 1; pair <= pairs; pair++) {
            List<PairOrder> round = new ArrayList<>();
            for (Journal.Contents run : runs) {
                int life = pair;
                int together = (pair - 1) * runs.size() + round.size() + 1;
                run.legs().stream()
                        .filter(leg -> leg.life() == life)
                        .map(leg -> leg.inLife(together))
                        .forEach(legs::add);
                round.add(run.header().plan().lives().get(pair - 1));
            }
            rounds.add(round);
        }
        RunHeader header = runs.getFirst().header();
        boolean holds = runs.stream().anyMatch(run -> run.header().claimsHold());
        Journal.Contents together = new Journal.Contents(
                header.of(new CrossoverPlan(rounds), holds),
                legs,
                List.of("The orders ran one after the other and not in random rounds, so a drift of the day falls on"
                        + " one of them."));
        return Optional.of(Analysis.of(together));
    }
}
