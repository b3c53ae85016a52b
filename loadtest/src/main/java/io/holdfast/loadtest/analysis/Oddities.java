package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Drift;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Flag;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.Quantiles;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;

/*
 * What is odd about a run
 * =======================
 *
 * None of it changes the finding; each of it can make a reader take the finding for more than it is.
 *
 * MIXED. The mean and the median of the same requests move in opposite directions, one of them significantly and by as
 * much as an effect that matters: a tail hides what most requests see, or the other way round.
 *
 * FIRST_WAVE_ONLY. The first cycle of a leg shows an effect, and the later ones are shown to have none: it would be
 * gone in a longer run.
 *
 * SATURATED. Floods are part of what is judged, and half of their requests waited for the first token more than twice
 * as long as a request of that length takes alone. The prime of each leg is alone, and tells what a token of a prompt
 * takes at most.
 */

/** The flags of a run, and the figures behind them. */
final class Oddities {
    private static final double QUEUED = 2;

    private final Statistic number;
    private final Criteria criteria;
    private final List<LegRecord> measured;
    private final LegPairs pairs;
    private final Optional<Drift> drift;
    private final Optional<Waves> waves;

    Oddities(RunHeader header, List<LegRecord> measured, LegPairs pairs) {
        this.number = header.statistic();
        this.criteria = header.criteria();
        this.measured = measured;
        this.pairs = pairs;
        this.drift = Drift.of(lives());
        this.waves = split();
    }

    Optional<Drift> drift() {
        return drift;
    }

    Optional<Waves> waves() {
        return waves;
    }

    Set<Flag> flags() {
        Set<Flag> flags = EnumSet.noneOf(Flag.class);
        if (drift.filter(of -> of.matters(criteria)).isPresent()) {
            flags.add(Flag.DRIFT);
        }
        if (isMixed()) {
            flags.add(Flag.MIXED);
        }
        if (waves.filter(this::isFirstWaveOnly).isPresent()) {
            flags.add(Flag.FIRST_WAVE_ONLY);
        }
        if (number.takesFloods() && isSaturated()) {
            flags.add(Flag.SATURATED);
        }
        return flags;
    }

    /** Returns the lives in the order in which they ran, which is not that of their numbers where a pair ran again. */
    private List<Drift.Life> lives() {
        List<Drift.Life> lives = new ArrayList<>();
        for (int turn = 0; turn < pairs.all().size(); turn++) {
            LegPairs.Pair pair = pairs.all().get(turn);
            double[] logs = pair.in(Arm.BASELINE).stream()
                    .flatMapToDouble(leg -> number.of(leg.requests()).stream())
                    .map(Math::log)
                    .toArray();
            if (logs.length > 0) {
                lives.add(new Drift.Life(turn, pair.order(), mean(logs)));
            }
        }
        return lives;
    }

    private Optional<Waves> split() {
        boolean both =
                measured.stream().flatMap(leg -> leg.requests().stream()).anyMatch(request -> request.cycle() > 1);
        return both
                ? Optional.of(
                        new Waves(estimate(request -> request.cycle() == 1), estimate(request -> request.cycle() > 1)))
                : Optional.empty();
    }

    private Estimate estimate(Predicate<RequestRecord> chosen) {
        return Estimate.of(pairs.data(
                requests -> number.of(requests.stream().filter(chosen).toList())));
    }

    private boolean isMixed() {
        Estimate mean = Estimate.of(pairs.data(number::meanOf));
        Estimate median = Estimate.of(pairs.data(number::medianOf));
        double product = mean.effect().orElse(0) * median.effect().orElse(0);
        return product < 0 && (matters(mean) || matters(median));
    }

    private boolean matters(Estimate estimate) {
        return estimate.ci95().filter(Interval::excludesZero).isPresent()
                && Math.abs(estimate.effect().orElse(0)) >= criteria.delta();
    }

    private boolean isFirstWaveOnly(Waves of) {
        return matters(of.first())
                && of.steady().ci90().filter(ci -> ci.within(criteria.delta())).isPresent();
    }

    private boolean isSaturated() {
        double[] shares = measured.stream()
                .flatMapToDouble(leg -> leg.requests().stream()
                        .filter(request -> request.role() == Role.FLOOD)
                        .flatMapToDouble(flood -> timesAlone(leg, flood).stream()))
                .toArray();
        return shares.length > 0 && Quantiles.of(shares, 0.5) > QUEUED;
    }

    /**
     * Returns how many times longer a request took than the prime of its leg took alone; absent where prompts are not
     * counted.
     */
    private OptionalDouble timesAlone(LegRecord leg, RequestRecord flood) {
        return leg.requests().stream()
                .filter(request -> request.role() == Role.PRIME)
                .filter(prime -> prime.ttftMillis().isPresent()
                        && flood.ttftMillis().isPresent()
                        && prime.promptTokens().orElse(0) > 0
                        && flood.promptTokens().orElse(0) > 0)
                .mapToDouble(prime -> {
                    double longer = (double) flood.promptTokens().orElseThrow()
                            / prime.promptTokens().orElseThrow();
                    return flood.ttftMillis().orElseThrow()
                            / (prime.ttftMillis().orElseThrow() * Math.max(1, longer));
                })
                .findFirst();
    }

    private static double mean(double[] values) {
        double sum = 0;
        for (double value : values) {
            sum += value;
        }
        return sum / values.length;
    }
}
