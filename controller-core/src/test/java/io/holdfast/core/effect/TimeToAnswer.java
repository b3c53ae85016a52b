package io.holdfast.core.effect;

import io.holdfast.core.effect.TrafficByTime.Answer;
import io.holdfast.core.effect.TrafficByTime.Told;
import io.holdfast.core.effect.TtftEffect.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Prints how long the loop takes for an answer, and which one it is, with the same seeds by time alone and by default. */
final class TimeToAnswer {
    private static final Duration MOST = Duration.ofMinutes(80 * 5);

    private TimeToAnswer() {}

    private enum Way {
        /** Windows of five minutes, and nothing but times: as the loop was before it judged computed tokens. */
        TIMES_ALONE(
                "times alone, windows of 300 s",
                Told.NOTHING,
                EffectSettings.DEFAULTS.withWindow(Duration.ofMinutes(5))),
        COUNTERS("by default, cached tokens told", Told.CACHED_TOKENS, EffectSettings.DEFAULTS),
        EVENTS("by default, with events", Told.CACHED_TOKENS_AND_EVENTS, EffectSettings.DEFAULTS);

        private final String said;
        private final Told told;

        @SuppressWarnings("ImmutableEnumChecker") // a record of settings never changes
        private final EffectSettings settings;

        Way(String said, Told told, EffectSettings settings) {
            this.said = said;
            this.told = told;
            this.settings = settings;
        }
    }

    /** {@code args}: how many seeds, or 30. */
    public static void main(String[] args) {
        int seeds = args.length > 0 ? Integer.parseInt(args[0]) : 30;
        System.out.println("| requests a second (noise) | loop | no effect | -5 % | -10 % | -20 % |");
        System.out.println("|---|---|---|---|---|---|");
        double[][] rates = {{100, 0.05}, {10, 0.07}, {1, 0.11}};
        for (double[] rate : rates) {
            for (Way way : Way.values()) {
                StringBuilder line = new StringBuilder(
                        String.format(Locale.ROOT, "| %.0f (%.0f %%) | %s |", rate[0], 100 * rate[1], way.said));
                for (double change : new double[] {0, -0.05, -0.1, -0.2}) {
                    List<Answer> answers = new ArrayList<>();
                    for (int seed = 0; seed < seeds; seed++) {
                        answers.add(new TrafficByTime(1_000 + seed, rate[0], rate[1], change, way.told, way.settings)
                                .answer(MOST));
                    }
                    line.append(' ').append(cell(answers)).append(" |");
                }
                System.out.println(line);
            }
        }
    }

    private static String cell(List<Answer> answers) {
        List<String> parts = new ArrayList<>();
        for (State state : List.of(State.PROVEN, State.NO_BENEFIT, State.HARMFUL)) {
            long found =
                    answers.stream().filter(answer -> answer.state() == state).count();
            if (found > 0) {
                parts.add(state + " " + found);
            }
        }
        long open = answers.stream()
                .filter(answer -> answer.state() == State.UNPROVEN)
                .count();
        if (open > 0) {
            parts.add("open " + open);
        }
        List<Duration> after = answers.stream().map(Answer::after).sorted().toList();
        return String.join(", ", parts) + "; median " + minutes(after.get(after.size() / 2)) + ", p90 "
                + minutes(after.get(after.size() * 9 / 10));
    }

    private static String minutes(Duration time) {
        return time.compareTo(MOST) >= 0
                ? "> 6.7 h"
                : time.toMinutes() < 120
                        ? time.toMinutes() + " min"
                        : String.format(Locale.ROOT, "%.1f h", time.toSeconds() / 3600.0);
    }
}
