package io.holdfast.loadtest.workload;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.workload.LoadRequest.Message;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Draws the workload of the pin benchmark: a system prompt that all requests share, two warm-ups by it one after the
 * other, then many questions under way at a time.
 *
 * <p>The warm-ups have the very system prompt of the load: one other byte, and what is held is not what is asked for.
 * Every leg sends the same, so it is for engines whose cache is emptied before each of them.
 */
public final class PinSharedPrompt {
    private static final int WARM_UPS = 2;
    private static final int WARM_UP_TOKENS = 16;
    private static final String TASK = "You are a careful assistant. Answer in plain words and stay with the question.";
    private static final int MOST_REQUESTS = 100_000;

    private PinSharedPrompt() {}

    /**
     * Number and sizes of the requests.
     *
     * @param sharedTokens of the system prompt, a word each
     * @param uniqueTokens of each question
     * @param outputTokens of each answer
     */
    public record Sizes(int requests, int sharedTokens, int uniqueTokens, int outputTokens) {
        /** 128 requests of some 448 tokens, of which 200 are their own, answered by 64. */
        public static final Sizes USUAL = new Sizes(128, 248, 200, 64);

        private static final int FEWEST_TOKENS = 16;

        public Sizes {
            if (requests < 1 || requests > MOST_REQUESTS || outputTokens < 1) {
                throw new LoadTestException("A load of " + requests + " requests with " + outputTokens
                        + " tokens of answer cannot be sent; use 1 to " + MOST_REQUESTS
                        + " requests and at least one.");
            }
            if (sharedTokens < FEWEST_TOKENS || uniqueTokens < FEWEST_TOKENS) {
                throw new LoadTestException("A system prompt of " + sharedTokens + " tokens and questions of "
                        + uniqueTokens + " are too short; use at least " + FEWEST_TOKENS + " of each.");
            }
        }

        public Sizes withRequests(int value) {
            return new Sizes(value, sharedTokens, uniqueTokens, outputTokens);
        }
    }

    /**
     * Draws a workload; the same seed and sizes give the same requests.
     *
     * @param concurrency requests that will be under way at a time, whose own tokens press on the cache together
     */
    public static Workload workload(long seed, Sizes sizes, int concurrency) {
        SplittableRandom root = new SplittableRandom(seed);
        Message system = new Message("system", text(TASK, sizes.sharedTokens(), root.split()));
        Message another = new Message("system", text(TASK, sizes.sharedTokens(), root.split()));
        SplittableRandom questions = root.split();
        List<LoadRequest> warmUps = new ArrayList<>();
        for (int i = 0; i < WARM_UPS; i++) {
            Message user = new Message("user", "Warmup " + i + ". Reply briefly.");
            warmUps.add(LoadRequest.ofMessages(Role.PRIME, 0, List.of(system, user), WARM_UP_TOKENS));
        }
        List<LoadRequest> load = new ArrayList<>();
        for (int i = 0; i < sizes.requests(); i++) {
            // No two of them begin alike, so that what they share is the system prompt and nothing more.
            Message user = new Message("user", text("Q" + i + ":", sizes.uniqueTokens(), questions));
            load.add(LoadRequest.ofMessages(Role.PROBE, 1, List.of(system, user), sizes.outputTokens()));
        }
        List<Phase> leg = List.of(new Phase(Role.PRIME, 0, warmUps), new Phase(Role.PROBE, 1, load, true));
        return new Workload(
                "pin_shared_prompt: " + sizes.requests() + " requests of " + sizes.sharedTokens() + " shared and "
                        + sizes.uniqueTokens() + " own tokens, " + sizes.outputTokens() + " of answer",
                seed,
                LoadRequest.ofMessages(Role.TOUCH, 0, List.of(system), 1),
                LoadRequest.ofMessages(Role.TOUCH, 0, List.of(another), 1),
                (long) concurrency * sizes.uniqueTokens(),
                new Arrivals.Closed(),
                Collections.nCopies(Workload.LEGS_OF_A_LIFE, leg));
    }

    /** A text of so many words that begins with these. */
    private static String text(String head, int words, SplittableRandom random) {
        int[] rest = random.ints(words - head.split(" ", -1).length, 0, Integer.MAX_VALUE)
                .toArray();
        return head + " " + PlainWords.text(rest);
    }
}
