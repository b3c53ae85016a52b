package io.holdfast.storm;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.TokenListener;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Who uses one engine: system prompts before many users' texts, the system prompts alone, unrelated prompts up to the
 * largest legal one, long answers, floods, and the same tokens under another key.
 */
final class Traffic {
    /** A system prompt and its blocks. */
    static final class Shared {
        private final int[] tokens;
        private final long[] blocks;

        Shared(int[] tokens, long[] blocks) {
            this.tokens = tokens;
            this.blocks = blocks;
        }

        int[] tokens() {
            return tokens;
        }

        long[] blocks() {
            return blocks;
        }
    }

    private final VirtualEngine engine;
    private final Timeline time;
    private final SplittableRandom random;
    private final StormOracle oracle;
    private final List<Shared> shared = new ArrayList<>();
    private final int longestAnswer;
    private final long pause;
    private final boolean twins;
    private final boolean shortFirst;
    private final long end;

    /** How many of the system prompts are this engine's alone. */
    private final int own;

    private boolean calm;
    private boolean careful;
    private final FreshTokens fresh;
    /** The last requests, which may come again, or go on, at another rank. */
    private final Deque<int[]> lately = new ArrayDeque<>();

    Traffic(
            VirtualEngine engine,
            Timeline time,
            SplittableRandom random,
            StormOracle oracle,
            int longestAnswer,
            boolean twins,
            boolean shortFirst,
            boolean nested,
            long end,
            FreshTokens fresh) {
        this.engine = engine;
        this.time = time;
        this.random = random;
        this.oracle = oracle;
        this.longestAnswer = longestAnswer;
        this.twins = twins;
        this.shortFirst = shortFirst;
        this.end = end;
        this.fresh = fresh;
        this.pause = random.nextLong(100, 500) * Timeline.MILLI;
        int page = engine.page();
        int most = Math.max(2, engine.settings.contextTokens() * 2 / 3 / page);
        int wanted = engine.guard() * 3 / 2;
        for (int all = 0; all < wanted; ) {
            int blocks = shortFirst ? random.nextInt(2, 5) : random.nextInt(2, most + 1);
            int[] tokens = fresh.take(blocks * page);
            add(tokens);
            all += blocks * page;
        }
        for (int i = 0; nested && i < 3; i++) {
            int[] longer = fresh.after(any().tokens(), random.nextInt(1, 4) * page);
            if (longer.length <= most * page) {
                add(longer);
            }
        }
        this.own = shared.size();
    }

    /** Takes one more system prompt into use. */
    void add(int[] tokens) {
        shared.add(new Shared(tokens, engine.names(tokens)));
    }

    void begin() {
        time.after(random.nextLong(pause), this::next);
        for (Shared prefix : shared) {
            time.after(random.nextLong(3 * Timeline.SECOND), () -> send(prefix.tokens(), 1, ""));
        }
    }

    /** The last blocks of the system prompts. */
    List<Long> ends() {
        return shared.stream().map(one -> one.blocks()[one.blocks().length - 1]).toList();
    }

    /** One of them, by somebody else's random numbers. */
    Shared any(SplittableRandom by) {
        return shared.get(by.nextInt(shared.size()));
    }

    Shared any() {
        return shared.get(random.nextInt(shared.size()));
    }

    /** Sends nothing until told otherwise. */
    void calm(boolean now) {
        calm = now;
    }

    /** Sends nothing that does not fit beside what is pinned and may be pinned. */
    void careful(boolean now) {
        careful = now;
    }

    /** Each system prompt once more, alone. */
    void again() {
        shared.forEach(prefix -> send(prefix.tokens(), 1, ""));
    }

    void flood() {
        for (int i = random.nextInt(8, 25); i > 0; i--) {
            time.after(random.nextLong(Timeline.SECOND), () -> {
                if (!calm) {
                    unrelated();
                }
            });
        }
    }

    /** What other clients do that no sidecar knows of: sessions of theirs, priorities above all that they were to send. */
    void special(StormVariant variant) {
        RequestOptions options = RequestOptions.of(1);
        switch (variant) {
            case SESSION_HOLD -> {
                if (random.nextBoolean()) {
                    engine.closeSession("user-" + random.nextInt(3));
                    return;
                }
                options = options.withSession("user-" + random.nextInt(3));
            }
            case PRIORITY_TOUCH -> options = options.withPriority(1 + random.nextInt(4));
            case PIN_BLOCKS, SGLANG_STREAMING, KEEP_WARM, KEEP_WARM_VLLM, VLLM_CONNECTOR -> {}
            case NIXL_LEASE -> {
                // All of them, which is more than the guard leaves: what is large has to wait.
                RequestOptions leased = options.withOrder(new HoldOrder.Lease("user"));
                shared.subList(0, own).forEach(prefix -> engine.ask(prefix.tokens(), leased, _ -> {}, () -> {}));
                return;
            }
        }
        engine.ask(any().tokens(), options, _ -> {}, () -> {});
    }

    /** The largest request that the engine accepts. */
    Generation largest(VirtualEngine rank, TokenListener listener) {
        int prompt = engine.settings.maxPromptTokens() - random.nextInt(2) * (longestAnswer - 1);
        prompt = Math.max(1, prompt);
        Generation largest = generation(fresh.take(prompt), engine.settings.maxRequestTokens(), "", listener);
        rank.submit(largest);
        return largest;
    }

    /** Somebody's text after a system prompt, for an engine that takes any now. */
    void arrives(int[] before, int more) {
        int room = engine.settings.maxPromptTokens() - before.length;
        if (!calm && engine.isUp() && !oracle.stopped(engine) && room > 0) {
            send(fresh.after(before, Math.min(room, more)), Math.min(4, longestAnswer), "");
        }
    }

    private void next() {
        if (time.now() >= end) {
            return;
        }
        time.after((long) (-Math.log(1 - random.nextDouble()) * pause), this::next);
        if (calm || !engine.isUp() || oracle.stopped(engine)) {
            return;
        }
        if (engine.ranks().size() > 1 && random.nextInt(4) == 0 && !lately.isEmpty()) {
            again(lately.peekFirst());
            return;
        }
        int kind = random.nextInt(100);
        if (kind < 35) {
            Shared one = any();
            if (kind < 10 || !engine.resident(one.blocks()[one.blocks().length - 1])) {
                send(one.tokens(), 1 + random.nextInt(4), twins && random.nextInt(20) == 0 ? "other" : "");
            }
        } else if (kind < 80) {
            int[] before = any().tokens();
            int room = longest() - before.length;
            if (room > 1) {
                int[] prompt = fresh.after(before, 1 + random.nextInt(Math.min(room, 6 * engine.page())));
                send(prompt, answer(), twins && random.nextInt(30) == 0 ? "other" : "");
            }
        } else {
            unrelated();
        }
    }

    /** The same request once more, or the conversation's next turn. */
    private void again(int[] before) {
        int room = longest() - before.length;
        boolean goesOn = room > 1 && random.nextBoolean();
        send(
                goesOn ? fresh.after(before, 1 + random.nextInt(Math.min(room, 4 * engine.page()))) : before,
                answer(),
                "");
    }

    private void unrelated() {
        int longest = longest();
        int tokens = random.nextInt(4) == 0 ? longest : 1 + random.nextInt(longest);
        send(fresh.take(tokens), answer(), "");
    }

    private boolean onlyShort() {
        return shortFirst && time.now() < end * 2 / 3;
    }

    private int longest() {
        return onlyShort() ? 5 * engine.page() : engine.settings.maxPromptTokens();
    }

    private int answer() {
        return random.nextInt(8) == 0
                ? 1 + random.nextInt(longestAnswer)
                : 1 + random.nextInt(Math.min(12, longestAnswer));
    }

    private void send(int[] prompt, int answer, String key) {
        int most = engine.settings.maxAnswerTokens(prompt.length);
        if (!engine.isUp() || prompt.length > engine.settings.maxPromptTokens() || most < 1) {
            return;
        }
        int said = Math.min(answer, most);
        if (careful && prompt.length + said + 2 * engine.page() > engine.capacity() - pinnedAtMost()) {
            return;
        }
        route(prompt).submit(generation(prompt, said, key, new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {}

            @Override
            public void failed(String message) {}
        }));
    }

    private VirtualEngine route(int[] prompt) {
        if (engine.ranks().size() == 1) {
            return engine;
        }
        lately.addLast(prompt);
        if (lately.size() > 6) {
            lately.removeFirst();
        }
        return engine.ranks().get(random.nextInt(engine.ranks().size()));
    }

    private int pinnedAtMost() {
        return engine.ranks().stream().mapToInt(oracle::pinnedTokens).max().orElse(0);
    }

    private Generation generation(int[] prompt, int answer, String key, TokenListener listener) {
        return new Generation(prompt, RequestOptions.of(answer).withExtraKey(key), false, time.now(), listener);
    }
}
