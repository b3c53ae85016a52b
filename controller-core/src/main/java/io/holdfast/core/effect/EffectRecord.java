package io.holdfast.core.effect;

import io.holdfast.core.effect.TtftEffect.OfClass;
import io.holdfast.evidence.Interval;
import io.holdfast.evidence.SequentialComparison;
import io.holdfast.evidence.SequentialComparison.Bounds;
import io.holdfast.evidence.SequentialComparison.Errors;
import io.holdfast.evidence.SequentialComparison.Look;
import io.holdfast.evidence.WindowValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;

/** The windows that were measured, and what they show. */
final class EffectRecord {
    private static final double MOST_ITL_RISE = Math.log(1.02);
    private static final Errors OF_ITL = new Errors(0.005, 0.005, 0.1);
    private static final int FEWEST_OF_CLASS = 10;

    private final double leastGain;
    private Optional<Series> series = Optional.empty();
    private double promptLog;
    private double load;

    /** What the newest look shows. */
    enum Verdict {
        OPEN("the interval still contains both gain and loss"),
        GAIN("holds shorten time to first token"),
        NO_GAIN("holds do not shorten time to first token by %s or more"),
        LOSS("holds lengthen time to first token"),
        TOKENS_SLOWER("holds lengthen the time between tokens");

        private final String said;

        Verdict(String said) {
            this.said = said;
        }

        String said() {
            return said;
        }
    }

    /** Made when there is something to compare: bounds take a moment to compute. */
    private static final class Series {
        private final Bounds bounds;
        private final SequentialComparison ttft;
        private final SequentialComparison itl;
        private final Map<String, SequentialComparison> classes = new TreeMap<>();
        private Optional<ChangeWatch> watch = Optional.empty();
        private boolean fresh;

        private Series(double leastGain) {
            bounds = new Bounds(leastGain, Errors.USUAL);
            ttft = new SequentialComparison(bounds);
            itl = new SequentialComparison(new Bounds(leastGain, OF_ITL));
        }
    }

    EffectRecord(double leastGain) {
        this.leastGain = leastGain;
    }

    void add(long number, boolean on, Window window, Window.Measured measured) {
        Series to = series.orElseGet(() -> new Series(leastGain));
        series = Optional.of(to);
        measured.promptTokens().ifPresent(tokens -> promptLog = Math.log(Math.max(1, tokens)));
        window.load().ifPresent(running -> load = running);
        WindowValue value = new WindowValue(number, on, Math.log(measured.seconds()), List.of(promptLog, load));
        to.fresh = to.ttft.add(value);
        to.watch.ifPresent(watch -> watch.add(value));
        window.itlSeconds()
                .filter(seconds -> seconds > 0)
                .ifPresent(seconds ->
                        to.fresh |= to.itl.add(new WindowValue(number, on, Math.log(seconds), List.of(load))));
        window.classes(FEWEST_OF_CLASS).forEach((name, ofClass) -> {
            if (to.classes.containsKey(name) || to.classes.size() < Window.MOST_CLASSES) {
                double prompt = Math.log(Math.max(1, ofClass.promptTokens().orElse(1)));
                to.classes
                        .computeIfAbsent(name, key -> new SequentialComparison(to.bounds))
                        .add(new WindowValue(number, on, Math.log(ofClass.seconds()), List.of(prompt, load)));
            }
        });
    }

    /** What the newest look shows, where there is one with the last window. */
    Verdict verdict() {
        if (series.filter(each -> each.fresh).isEmpty()) {
            return Verdict.OPEN;
        }
        Optional<Look> itl = series.get().itl.look();
        if (itl.filter(look -> look.interval().low() > MOST_ITL_RISE).isPresent()) {
            return Verdict.TOKENS_SLOWER;
        }
        Optional<Look> ttft = series.get().ttft.look();
        if (ttft.filter(Look::loss).isPresent()) {
            return Verdict.LOSS;
        }
        // Before a gain: one that is surely there and surely too small is none that is worth having.
        if (ttft.filter(Look::noGain).isPresent()) {
            return Verdict.NO_GAIN;
        }
        return ttft.filter(Look::gain).isPresent() ? Verdict.GAIN : Verdict.OPEN;
    }

    /** From now on, whether windows are still as the newest look says. */
    void watch() {
        series.ifPresent(each -> each.watch = each.ttft.look().map(look -> new ChangeWatch(look.fit())));
    }

    /** Why what was proven may hold no longer. */
    Optional<String> changed() {
        Series each = series.orElseThrow();
        if (each.fresh && each.ttft.look().filter(Look::loss).isPresent()) {
            return Optional.of("it is measured anew, since " + Verdict.LOSS.said + " by now");
        }
        Optional<String> change = each.watch.flatMap(ChangeWatch::change);
        if (change.isEmpty() && each.watch.filter(ChangeWatch::old).isPresent()) {
            watch();
        }
        return change;
    }

    /** What was measured tells of another time. */
    void forget() {
        series.ifPresent(each -> {
            each.ttft.forget();
            each.itl.forget();
            each.classes.clear();
            each.watch = Optional.empty();
            each.fresh = false;
        });
    }

    String progress(String why) {
        int windows = series.map(each -> each.ttft.windows()).orElse(0);
        return look().isPresent()
                ? "measuring: " + Verdict.OPEN.said + ", over " + windows + " windows"
                : "measuring: " + windows + " of at least " + SequentialComparison.FIRST_WINDOWS
                        + " windows are complete" + (windows == 0 && !why.isEmpty() ? "; " + why : "");
    }

    private Optional<Look> look() {
        return series.flatMap(each -> each.ttft.look());
    }

    TtftEffect effect(
            TtftEffect.State state,
            String reason,
            Optional<String> guard,
            Duration offTime,
            Optional<Duration> offPrefill,
            Optional<Duration> nextTry) {
        List<OfClass> classes = new ArrayList<>();
        series.ifPresent(each -> each.classes.forEach((name, comparison) -> classes.add(
                new OfClass(name, comparison.windows(), percent(comparison.look()), interval(comparison.look())))));
        return new TtftEffect(
                state,
                series.map(each -> each.ttft.windows()).orElse(0),
                percent(look()),
                interval(look()),
                reason,
                percent(series.flatMap(each -> each.itl.look())),
                guard,
                offTime,
                offPrefill,
                nextTry,
                classes);
    }

    private static OptionalDouble percent(Optional<Look> look) {
        return look.isPresent() ? OptionalDouble.of(percent(look.get().fit().effect())) : OptionalDouble.empty();
    }

    private static Optional<Interval> interval(Optional<Look> look) {
        return look.map(Look::interval).map(each -> new Interval(percent(each.low()), percent(each.high())));
    }

    private static double percent(double logarithm) {
        return 100 * Math.expm1(Math.clamp(logarithm, -50, 50));
    }
}
