package io.holdfast.workbench.table;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonValue;

/**
 * One thing that a table shows or cannot show.
 *
 * @param where it is seen, as {@code concurrency 32}; empty for the whole table
 * @param against whether it speaks against what the table is published for
 */
public record Remark(
        Topic topic,
        @JsonInclude(JsonInclude.Include.NON_EMPTY) String where,
        String text,
        boolean against) {
    /** Topic of a remark, in the order of a reader's questions. */
    public enum Topic {
        ARITHMETIC("arithmetic"),
        ORDER("order"),
        ORDER_BIAS("order bias"),
        REPETITIONS("repetitions"),
        EXPOSURE("exposure"),
        DEMAND("memory demand"),
        BASELINE_DOSE("baseline over levels"),
        EFFECT_DOSE("effect over levels"),
        PLACEBO("placebo"),
        COLD_START("cold start"),
        FIRST_WAVE("first wave"),
        MIXED("mean and median"),
        SPREAD("spread"),
        REPLICATES("replicates"),
        CLIFF("cliff"),
        TAIL("tail"),
        TRADE_OFF("gain and cost"),
        CONSISTENCY("consistency"),
        PLAUSIBILITY("plausibility"),
        CONTROLS("negative controls"),
        REGRESSIONS("regressions"),
        MIXED_SIGNS("models"),
        SETTINGS("settings"),
        SCALING("scaling"),
        HARDWARE("hardware"),
        OUTCOMES("legs"),
        COOL_DOWN("cool-down"),
        READING("reading");

        private final String text;

        Topic(String text) {
            this.text = text;
        }

        /** Returns a heading of few words. */
        @JsonValue
        public String text() {
            return text;
        }
    }
}
