package io.holdfast.sidecar;

import io.holdfast.core.effect.TtftEffect;
import io.holdfast.evidence.Interval;
import java.util.Locale;

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
        String numbers = numbers(effect);
        return new Verdict(
                word,
                switch (word) {
                    case HELPS, HARMS, DOES_NOTHING ->
                        numbers.isEmpty() ? sentence(effect.reason()) : sentence("with holds " + numbers);
                    case CANNOT_TELL ->
                        sentence(effect.reason()) + (numbers.isEmpty() ? "" : " So far " + numbers + ".");
                });
    }

    /** The effect with its interval; empty where there is none. */
    private static String numbers(TtftEffect effect) {
        if (effect.effectPercent().isEmpty()) {
            return "";
        }
        return "the first token comes " + sooner(effect.effectPercent().getAsDouble())
                + effect.interval95Percent()
                        .map(interval -> " (95 % interval: " + span(interval) + ")")
                        .orElse("");
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
