package io.holdfast.workbench.preset;

import java.util.List;

/** Presets by name, for a list. */
public final class Presets {
    private Presets() {}

    /**
     * A preset in a list.
     *
     * @param says what it does, in a sentence
     * @param leaves the names of the files that it leaves beside plan.json and legs/
     */
    public record Entry(String name, String says, List<String> leaves) {
        public Entry {
            leaves = List.copyOf(leaves);
        }
    }

    /** Returns the presets in the order in which a reader meets them. */
    public static List<Entry> all() {
        return List.of(
                new Entry(
                        "probe-flood-probe",
                        "Whether a hold keeps an idle prefix through a flood; the same as 'holdfast loadtest ab'.",
                        List.of("the journal of --journal")),
                new Entry(
                        "pin-poc",
                        "The pin benchmark with its controls: A/A, both orders, at 32 and 64 requests at a time.",
                        List.of(
                                "aa_control_concC.json",
                                "normal_order_concC.json",
                                "reversed_order_concC.json",
                                "multi_rep_conc64.json",
                                "cache_hit_analysis.json")),
                new Entry(
                        "serving",
                        "Five workloads of an inference server: alone, stream, burst, long prompts, shared prefix.",
                        List.of("serving_MODEL_TIME.json", "report.md")),
                new Entry(
                        "radix",
                        "What a prefix cache finds of cold, shared and repeated prompts, and when it evicts.",
                        List.of("radix_MODEL_TIME.json", "radix_MODEL_TIME.txt")),
                new Entry(
                        "kvcached-overhead",
                        "The same server without kvcached and with it, in both orders, at rates of a"
                                + " bench-config.yaml.",
                        List.of("baseline.json", "kvcached.json")),
                new Entry(
                        "latency-benefit",
                        "Several models at once, whose loads climb one after the other.",
                        List.of("latency-benefit_several_TIME.json")),
                new Entry(
                        "multi-model",
                        "One model, two at once, and so on, until they no longer fit.",
                        List.of("multi-model_several_TIME.json")),
                new Entry(
                        "baseline-story",
                        "100 requests of 512 and 128 tokens, one after the other, told in their stages.",
                        List.of("baseline-story_MODEL_TIME.json", "baseline-story_MODEL_TIME.txt")),
                new Entry(
                        "simple",
                        "100 chats of one word at once, in the two lines of the well-known script.",
                        List.of("simple_MODEL_TIME.json", "simple_MODEL_TIME.txt")),
                new Entry(
                        "accuracy",
                        "Questions with a number as their answer, behind five that are answered already.",
                        List.of("accuracy_MODEL_TIME.json")),
                new Entry(
                        "negative",
                        "Loads that nothing can be gained on: fixed, fast, short; a controller has to stay idle.",
                        List.of("negative_MODEL_TIME.json", "negative_MODEL_TIME.txt")),
                new Entry(
                        "cache-matrix",
                        "Cold, warm and hot caches by length, batch and way of answering; then two users.",
                        List.of("cache-matrix_MODEL_TIME.json", "report.md", "staggered.json")),
                new Entry(
                        "staggered",
                        "Two users, one after the other and together, with a verdict.",
                        List.of("staggered_MODEL_TIME.json", "report.md", "staggered.json")),
                new Entry(
                        "server-compare",
                        "Servers that are started differently, by batch and length.",
                        List.of("server-compare_MODEL_TIME.json", "report.md")));
    }
}
