package io.holdfast.core.effect;

import io.holdfast.core.effect.TtftEffect.Computed;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.TreeMap;
import java.util.stream.Stream;

/** The windows that were measured, and what they show. */
final class EffectRecord {
    /*
     * Two outcomes
     * ------------
     * Time to first token says what users wait for, and strays with all that they send. The prompt tokens that are
     * computed are counted exactly, and are the only thing that a hold saves. Either shows a gain; each has a part of
     * the error that a gain may have, so that both together have it once. Only both together exclude a gain, which
     * needs no part of it. Harm is what users wait for longer, for the first token or for the next.
     *
     * Those it is for
     * ---------------
     * Where events show which prompts go over prefixes that are held when holds are on, what those compute is judged,
     * in place of what all do: a gain of a tenth of the requests is a gain. What holds displace is computed by others,
     * so where all together plainly compute more, this is no gain.
     */
    private static final double MOST_ITL_RISE = Math.log(1.02);
    private static final Errors OF_TTFT = new Errors(0.025, 0.003, 0.15);
    private static final Errors OF_TOKENS = new Errors(0.025, 0.003, 0.15);
    private static final Errors OF_A_CLASS = new Errors(0.025, 0.001 / Window.MOST_CLASSES, 0.15);
    private static final Errors OF_ITL = new Errors(0.005, 0.005, 0.1);
    private static final int FEWEST_OF_CLASS = 10;
    /** Less of a prompt is as good as nothing, and its logarithm is mostly noise. */
    private static final double LEAST_COMPUTED = 0.005;
    /** Share of the windows that is enough to speak of those requests alone. */
    private static final double ENOUGH_OF_USERS = 0.5;

    private static final double KEPT = 0.99;

    private final double leastGain;
    private Optional<Series> series = Optional.empty();
    private double promptLog;
    private double load;

    /** Verdict of the newest look. */
    enum Verdict {
        OPEN,
        GAIN,
        NO_GAIN,
        LOSS,
        TOKENS_SLOWER
    }

    /** A verdict with its reason. */
    record Finding(Verdict verdict, String said) {}

    private static final Finding OPEN = new Finding(Verdict.OPEN, "the interval still contains both gain and loss");
    private static final Finding LOSS = new Finding(Verdict.LOSS, "holds lengthen time to first token");
    private static final Finding TOKENS_SLOWER =
            new Finding(Verdict.TOKENS_SLOWER, "holds lengthen the time between tokens");
    private static final Finding SOONER = new Finding(Verdict.GAIN, "holds shorten time to first token");

    /** Made when there is something to compare: bounds take a moment to compute. */
    private static final class Series {
        private final Bounds ofAClass;
        private final SequentialComparison ttft;
        private final SequentialComparison itl;
        private final SequentialComparison computedByUsers;
        private final SequentialComparison computedByAll;
        private final Map<String, SequentialComparison> classes = new TreeMap<>();
        private final List<ChangeWatch> watches = new ArrayList<>();
        private double requests;
        private double users;
        private double reported;
        private final Map<String, Double> reportedOf = new TreeMap<>();
        private boolean fresh;

        private Series(double leastGain) {
            Bounds tokens = new Bounds(leastGain, OF_TOKENS);
            ofAClass = new Bounds(leastGain, OF_A_CLASS);
            ttft = new SequentialComparison(new Bounds(leastGain, OF_TTFT));
            itl = new SequentialComparison(new Bounds(leastGain, OF_ITL));
            computedByUsers = new SequentialComparison(tokens);
            computedByAll = new SequentialComparison(tokens);
        }

        private boolean ofUsers() {
            return enough(computedByUsers);
        }

        private Optional<SequentialComparison> computed() {
            return Stream.of(computedByUsers, computedByAll)
                    .filter(this::enough)
                    .findFirst();
        }

        private boolean enough(SequentialComparison comparison) {
            return comparison.windows() > 0 && comparison.windows() >= ENOUGH_OF_USERS * ttft.windows();
        }

        /** Returns true if all together compute more with holds, by more than chance is wide. */
        private boolean displaces() {
            return ofUsers()
                    && computedByAll
                            .look()
                            .filter(look -> look.fit().effect() > look.fit().se())
                            .isPresent();
        }

        private OptionalDouble usersPercent() {
            return ofUsers() && requests > 0
                    ? OptionalDouble.of(100 * Math.min(1, users / requests))
                    : OptionalDouble.empty();
        }

        private String who() {
            OptionalDouble percent = usersPercent();
            return percent.isPresent()
                    ? "requests that use held prefixes, " + shown(percent.getAsDouble()) + " of all,"
                    : "requests";
        }

        private void forget() {
            Stream.of(ttft, itl, computedByUsers, computedByAll).forEach(SequentialComparison::forget);
            classes.clear();
            watches.clear();
            requests = 0;
            users = 0;
            reported = 0;
            reportedOf.clear();
            fresh = false;
        }
    }

    EffectRecord(double leastGain) {
        this.leastGain = leastGain;
    }

    void add(long number, boolean on, Window window, Window.Measured measured) {
        Series to = series.orElseGet(() -> new Series(leastGain));
        series = Optional.of(to);
        measured.promptTokens().ifPresent(tokens -> promptLog = log(tokens));
        window.load().ifPresent(running -> load = running);
        WindowValue value = new WindowValue(number, on, Math.log(measured.seconds()), List.of(promptLog, load));
        to.fresh = to.ttft.add(value);
        to.watches.stream().filter(watch -> watch.of() == ChangeWatch.Of.TIMES).forEach(watch -> watch.add(value));
        window.itlSeconds()
                .filter(seconds -> seconds > 0)
                .ifPresent(seconds ->
                        to.fresh |= to.itl.add(new WindowValue(number, on, Math.log(seconds), List.of(load))));
        to.requests = KEPT * to.requests + window.served();
        to.users = KEPT * to.users + window.users();
        computed(to, to.computedByUsers, window.computedByUsers(), number, on, log(window.usersPromptTokens()));
        computed(to, to.computedByAll, window.computedByAll(), number, on, promptLog);
        classes(to, number, on, window);
    }

    private static void computed(
            Series to,
            SequentialComparison comparison,
            OptionalDouble part,
            long number,
            boolean on,
            double promptLog) {
        if (part.isEmpty()) {
            return;
        }
        WindowValue value =
                new WindowValue(number, on, Math.log(Math.max(LEAST_COMPUTED, part.getAsDouble())), List.of(promptLog));
        to.fresh |= comparison.add(value);
        if (to.computed().filter(judged -> judged == comparison).isPresent()) {
            to.watches.stream()
                    .filter(watch -> watch.of() == ChangeWatch.Of.TOKENS)
                    .forEach(watch -> watch.add(value));
        }
    }

    private void classes(Series to, long number, boolean on, Window window) {
        to.reported *= KEPT;
        to.reportedOf.replaceAll((name, count) -> KEPT * count);
        window.classes(FEWEST_OF_CLASS).forEach((name, ofClass) -> {
            if (to.classes.containsKey(name) || to.classes.size() < Window.MOST_CLASSES) {
                to.classes
                        .computeIfAbsent(name, key -> new SequentialComparison(to.ofAClass))
                        .add(new WindowValue(
                                number,
                                on,
                                Math.log(ofClass.seconds()),
                                List.of(log(ofClass.promptTokens().orElse(1)), load)));
                to.reportedOf.merge(name, (double) ofClass.requests(), Double::sum);
            }
        });
        to.reported += window.reported();
    }

    private static double log(double tokens) {
        return Math.log(Math.max(1, tokens));
    }

    /** Returns what the newest looks show, where there is one with the last window. */
    Finding finding() {
        Optional<Series> looked = series.filter(each -> each.fresh);
        return looked.isEmpty() ? OPEN : finding(looked.get());
    }

    private Finding finding(Series of) {
        if (of.itl.look().filter(look -> look.interval().low() > MOST_ITL_RISE).isPresent()) {
            return TOKENS_SLOWER;
        }
        Optional<Look> ttft = of.ttft.look();
        if (ttft.filter(Look::loss).isPresent()) {
            return LOSS;
        }
        Optional<Look> tokens = of.computed().flatMap(SequentialComparison::look);
        boolean displaces = of.displaces();
        if (!displaces && tokens.filter(EffectRecord::worthHaving).isPresent()) {
            return new Finding(Verdict.GAIN, of.who() + " compute fewer prompt tokens with holds");
        }
        if (ttft.filter(EffectRecord::worthHaving).isPresent()) {
            return SOONER;
        }
        Optional<String> better = of.classes.entrySet().stream()
                .filter(each ->
                        each.getValue().look().filter(EffectRecord::worthHaving).isPresent())
                .map(Map.Entry::getKey)
                .findFirst();
        if (better.isPresent()) {
            double part = of.reportedOf.getOrDefault(better.get(), 0.0) / Math.max(1, of.reported);
            return new Finding(
                    Verdict.GAIN,
                    "holds shorten time to first token of requests of the class " + better.get() + ", "
                            + shown(100 * part) + " of those that are reported");
        }
        return ttft.filter(Look::noGain).isPresent() ? withoutGain(of, tokens, displaces) : OPEN;
    }

    /** Time to first token does not gain enough. */
    private Finding withoutGain(Series of, Optional<Look> tokens, boolean displaces) {
        String sooner = "holds do not shorten time to first token by " + percentOf(leastGain) + " or more";
        if (of.computed().isEmpty()) {
            return new Finding(
                    Verdict.NO_GAIN,
                    sooner + "; no source reports what is found in the cache, so computed tokens are not judged");
        }
        if (tokens.filter(Look::noGain).isPresent()) {
            return new Finding(
                    Verdict.NO_GAIN, sooner + ", and " + of.who() + " do not compute that much fewer prompt tokens");
        }
        return displaces && of.computedByAll.look().filter(Look::noGain).isPresent()
                ? new Finding(Verdict.NO_GAIN, sooner + ", and what holds save, other requests compute anew")
                : OPEN;
    }

    /** One that is surely there and surely too small is none. */
    private static boolean worthHaving(Look look) {
        return look.gain() && !look.noGain();
    }

    /** Watches from now on whether windows are still as the newest looks say. */
    void watch() {
        series.ifPresent(each -> {
            each.watches.clear();
            Optional<Look> tokens = each.computed().flatMap(SequentialComparison::look);
            boolean byTokens = tokens.filter(EffectRecord::worthHaving).isPresent();
            if (byTokens) {
                each.watches.add(new ChangeWatch(
                        ChangeWatch.Of.TOKENS, tokens.orElseThrow().fit()));
            }
            each.ttft
                    .look()
                    .filter(look -> !byTokens || worthHaving(look))
                    .ifPresent(look -> each.watches.add(new ChangeWatch(ChangeWatch.Of.TIMES, look.fit())));
        });
    }

    /** Returns the reason why what was proven may hold no longer. */
    Optional<String> changed() {
        Series each = series.orElseThrow();
        if (each.fresh && each.ttft.look().filter(Look::loss).isPresent()) {
            return Optional.of("it is measured anew, since " + LOSS.said + " by now");
        }
        Optional<String> change =
                each.watches.stream().flatMap(watch -> watch.change().stream()).findFirst();
        if (change.isEmpty() && !each.watches.isEmpty() && each.watches.stream().allMatch(ChangeWatch::old)) {
            watch();
        }
        return change;
    }

    /** Forgets what was measured, since it tells of another time. */
    void forget() {
        series.ifPresent(Series::forget);
    }

    int windows() {
        return series.map(each -> each.ttft.windows()).orElse(0);
    }

    String progress(String why) {
        int windows = windows();
        if (look().isEmpty()) {
            return "measuring: " + windows + " of at least " + SequentialComparison.FIRST_WINDOWS
                    + " windows are complete" + (windows == 0 && !why.isEmpty() ? "; " + why : "");
        }
        Series each = series.orElseThrow();
        boolean nothingSaved = each.computed()
                .flatMap(SequentialComparison::look)
                .filter(Look::noGain)
                .isPresent();
        return nothingSaved
                ? "measuring: " + each.who() + " do not compute fewer prompt tokens with holds, and whether the first"
                        + " token comes sooner is open, over " + windows + " windows"
                : "measuring: " + OPEN.said + ", over " + windows + " windows";
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
            Optional<Duration> nextTry,
            Optional<String> expected) {
        List<OfClass> classes = new ArrayList<>();
        series.ifPresent(each -> each.classes.forEach((name, comparison) -> classes.add(
                new OfClass(name, comparison.windows(), percent(comparison.look()), interval(comparison.look())))));
        return new TtftEffect(
                state,
                windows(),
                percent(look()),
                interval(look()),
                reason,
                percent(series.flatMap(each -> each.itl.look())),
                guard,
                offTime,
                offPrefill,
                nextTry,
                classes,
                series.flatMap(each -> each.computed()
                        .map(judged -> new Computed(
                                each.ofUsers(),
                                each.usersPercent(),
                                judged.windows(),
                                percent(judged.look()),
                                interval(judged.look())))),
                expected);
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

    private static String percentOf(double part) {
        return String.format(Locale.ROOT, "%.3g %%", 100 * part);
    }

    private static String shown(double percent) {
        return String.format(Locale.ROOT, percent < 9.95 ? "%.1f %%" : "%.0f %%", percent);
    }
}
