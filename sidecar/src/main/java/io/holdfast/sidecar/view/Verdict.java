package io.holdfast.sidecar.view;

import io.holdfast.core.effect.TtftEffect;
import io.holdfast.evidence.Interval;
import java.util.Locale;
import java.util.Optional;
import java.util.function.DoubleFunction;

/**
 * What holding does to requests, in the words of somebody who looks for five seconds.
 *
 * @param sentence the word with its numbers, or what is missing for them
 */
public record Verdict(Word word, String sentence) {
    /** The four things that can be said, the most urgent first. */
    enum Word {
        HARMS("harms"),
        CANNOT_TELL("cannot tell yet"),
        DOES_NOTHING("does nothing"),
        HELPS("helps");

        private final String said;

        Word(String said) {
            this.said = said;
        }

        String said() {
            return said;
        }
    }

    public static Verdict of(TtftEffect effect) {
        Word word = switch (effect.state()) {
            case PROVEN -> Word.HELPS;
            case HARMFUL -> Word.HARMS;
            case NO_BENEFIT -> Word.DOES_NOTHING;
            case UNPROVEN -> Word.CANNOT_TELL;
        };
        return new Verdict(
                word,
                switch (word) {
                    case HELPS, HARMS ->
                        results(effect, word, "the first token comes ", ": ", "")
                                .map(numbers -> sentence("with holds " + numbers))
                                .orElse(sentence(effect.reason()));
                    case DOES_NOTHING ->
                        interval(effect)
                                .map(numbers -> "No difference that would matter: with holds "
                                        + saved(effect, " ", "")
                                                .map(computed -> computed + ", and ")
                                                .orElse("")
                                        + numbers + ".")
                                .orElse(sentence(effect.reason()));
                    case CANNOT_TELL ->
                        sentence(effect.reason())
                                + interval(effect)
                                        .map(numbers -> " So far " + numbers + ".")
                                        .orElse("")
                                + effect.expected()
                                        .map(expected -> " " + sentence(expected))
                                        .orElse("");
                });
    }

    /**
     * The effects that are the result, each with its interval; absent where there are none. An estimate that could as well be
     * none would be taken for one, and is left out beside another that could not.
     */
    private static Optional<String> results(TtftEffect effect, Word word, String first, String colon, String over) {
        Optional<String> tokens = word == Word.HELPS && fewer(effect) ? saved(effect, colon, over) : Optional.empty();
        Optional<String> times = effect.effectPercent().isEmpty()
                ? Optional.empty()
                : Optional.of(
                        tokens.isPresent() && !sooner(effect)
                                ? first
                                        + effect.interval95Percent()
                                                .map(Verdict::span)
                                                .orElse("neither sooner nor later")
                                        + " (95 % interval" + over + ")"
                                : first
                                        + sooner(effect.effectPercent().getAsDouble())
                                        + effect.interval95Percent()
                                                .map(interval ->
                                                        " (95 % interval" + colon + span(interval) + over + ")")
                                                .orElse(""));
        return tokens.isPresent()
                ? tokens.map(said -> said + times.map(time -> "; " + time).orElse(""))
                : times;
    }

    private static boolean fewer(TtftEffect effect) {
        return effect.computed()
                .flatMap(TtftEffect.Computed::interval95Percent)
                .filter(interval -> interval.high() < 0)
                .isPresent();
    }

    private static boolean sooner(TtftEffect effect) {
        return effect.interval95Percent()
                .filter(interval -> interval.high() < 0)
                .isPresent();
    }

    /** Who computes how much less; absent where nothing is known of it. */
    private static Optional<String> saved(TtftEffect effect, String colon, String over) {
        return effect.computed()
                .flatMap(computed -> computed.interval95Percent().map(interval -> {
                    String who = computed.sharePercent().isPresent()
                            ? String.format(
                                    Locale.ROOT,
                                    "requests that use held prefixes, %.2g %% of all, compute ",
                                    computed.sharePercent().getAsDouble())
                            : "requests compute ";
                    return who
                            + (interval.high() < 0 && computed.effectPercent().isPresent()
                                    ? fewer(computed.effectPercent().getAsDouble()) + " prompt tokens (95 % interval"
                                            + colon + range(interval, Verdict::fewer) + over + ")"
                                    : range(interval, Verdict::fewer) + " prompt tokens (95 % interval" + over + ")");
                }));
    }

    private static String fewer(double percent) {
        return percent(percent) + (percent > 0 ? " more" : " fewer");
    }

    /** The interval alone: an estimate that could as well be none would be taken for a result. */
    private static Optional<String> interval(TtftEffect effect) {
        return effect.interval95Percent()
                .map(interval -> "the first token comes " + span(interval) + " (95 % interval)");
    }

    /** The numbers behind the word, as short as they can be; absent where there are none. */
    Optional<String> shortly(TtftEffect effect) {
        String over = ", " + effect.windows() + " windows";
        return word == Word.HELPS || word == Word.HARMS
                ? results(effect, word, "first token ", " ", over)
                : effect.interval95Percent()
                        .map(interval -> "first token " + span(interval) + " (95 % interval" + over + ")");
    }

    /** A change of a time in words; negative is sooner. */
    static String sooner(double percent) {
        return percent(percent) + (percent > 0 ? " later" : " sooner");
    }

    /** From the better end to the worse one, the direction said once where it is the same. */
    static String span(Interval interval) {
        return range(interval, Verdict::sooner);
    }

    private static String range(Interval interval, DoubleFunction<String> said) {
        boolean crossing = interval.low() <= 0 && interval.high() > 0;
        double best = interval.low();
        double worst = interval.high();
        if (crossing) {
            return said.apply(best) + " to " + said.apply(worst);
        }
        return worst > 0 ? percent(best) + " to " + said.apply(worst) : percent(worst) + " to " + said.apply(best);
    }

    private static String percent(double percent) {
        return String.format(Locale.ROOT, "%.1f %%", Math.abs(percent));
    }

    /** With a capital letter and a full stop. */
    static String sentence(String clause) {
        if (clause.isEmpty()) {
            return clause;
        }
        String begun = Character.toUpperCase(clause.charAt(0)) + clause.substring(1);
        return begun.endsWith(".") ? begun : begun + ".";
    }
}
