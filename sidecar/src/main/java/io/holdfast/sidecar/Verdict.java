package io.holdfast.sidecar;

import io.holdfast.core.effect.TtftEffect;
import io.holdfast.evidence.Interval;
import java.util.Locale;
import java.util.Optional;

/**
 * What holding does to time to first token, in the words of somebody who looks for five seconds.
 *
 * @param sentence the word with its numbers, or what is missing for them
 */
record Verdict(Word word, String sentence) {
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

    static Verdict of(TtftEffect effect) {
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
                        estimate(effect)
                                .map(numbers -> sentence("with holds " + numbers))
                                .orElse(sentence(effect.reason()));
                    case DOES_NOTHING ->
                        interval(effect)
                                .map(numbers -> "No difference that would matter: with holds " + numbers + ".")
                                .orElse(sentence(effect.reason()));
                    case CANNOT_TELL ->
                        sentence(effect.reason())
                                + interval(effect)
                                        .map(numbers -> " So far " + numbers + ".")
                                        .orElse("");
                });
    }

    /** The effect with its interval; absent where there is none. */
    private static Optional<String> estimate(TtftEffect effect) {
        return effect.effectPercent().isEmpty()
                ? Optional.empty()
                : Optional.of("the first token comes "
                        + sooner(effect.effectPercent().getAsDouble())
                        + effect.interval95Percent()
                                .map(interval -> " (95 % interval: " + span(interval) + ")")
                                .orElse(""));
    }

    /** The interval alone: an estimate that could as well be none would be taken for a result. */
    private static Optional<String> interval(TtftEffect effect) {
        return effect.interval95Percent()
                .map(interval -> "the first token comes " + span(interval) + " (95 % interval)");
    }

    /** The numbers behind the word, as short as they can be; absent where there are none. */
    Optional<String> shortly(TtftEffect effect) {
        String over = effect.windows() + " windows";
        boolean result = word == Word.HELPS || word == Word.HARMS;
        if (result && effect.effectPercent().isPresent()) {
            return Optional.of("first token " + sooner(effect.effectPercent().getAsDouble())
                    + effect.interval95Percent()
                            .map(interval -> " (95 % interval " + span(interval) + ", " + over + ")")
                            .orElse(""));
        }
        return effect.interval95Percent()
                .map(interval -> "first token " + span(interval) + " (95 % interval, " + over + ")");
    }

    /** A change of a time in words; negative is sooner. */
    static String sooner(double percent) {
        return percent(percent) + (percent > 0 ? " later" : " sooner");
    }

    /** From the better end to the worse one, the direction said once where it is the same. */
    static String span(Interval interval) {
        boolean crossing = interval.low() <= 0 && interval.high() > 0;
        double best = interval.low();
        double worst = interval.high();
        if (crossing) {
            return sooner(best) + " to " + sooner(worst);
        }
        return worst > 0 ? percent(best) + " to " + sooner(worst) : percent(worst) + " to " + sooner(best);
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
