package io.holdfast.storm;

import io.holdfast.storm.StockRun.Request;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/** Requests at fixed times that look as if something were worth a hold, and are not, or not for long. */
final class HostileTraffic {
    enum Pattern {
        /** Prompts that come once, then a list of prompts as large as the cache and a half, over and over. */
        SCANS,
        /** Heads that two users share, and two more once they were lost; then nobody ever again. */
        SHARED_TWICE,
        /** Three heads by turns that are together larger than what may be held. */
        LARGE_HEADS_BY_TURNS,
        /** Each round another head is the one that everybody uses. */
        FLIPS,
        /** Forty at the same moment, and nothing for a while. */
        BURSTS,
        /** Prompts larger than half of the cache between users who share a head. */
        GIANTS,
        /** Conversations that go on a few times, at about the time after which they are lost. */
        ENDING_CONVERSATIONS,
        /** All of them together. */
        MIXED
    }

    /** A request and when it comes, from the beginning on. */
    record Timed(long millis, Request request) {}

    private static final long END_MILLIS = 480_000;
    private static final int PARTS = 7;

    private final SplittableRandom random;
    private final StockEngine engine;
    private final FreshTokens tokens;
    private final List<Timed> all = new ArrayList<>();
    /** How much more slowly it comes, where several patterns share an engine. */
    private int slower = 1;

    private HostileTraffic(long seed, StockEngine engine, FreshTokens tokens) {
        this.random = new SplittableRandom(seed);
        this.engine = engine;
        this.tokens = tokens;
    }

    /** In no order. */
    static List<Timed> of(Pattern pattern, long seed, StockEngine engine, FreshTokens tokens) {
        HostileTraffic traffic = new HostileTraffic(seed, engine, tokens);
        traffic.add(pattern);
        return List.copyOf(traffic.all);
    }

    private void add(Pattern pattern) {
        switch (pattern) {
            case SCANS -> scans();
            case SHARED_TWICE -> sharedTwice();
            case LARGE_HEADS_BY_TURNS -> byTurns();
            case FLIPS -> flips();
            case BURSTS -> bursts();
            case GIANTS -> giants();
            case ENDING_CONVERSATIONS -> conversations();
            case MIXED -> {
                slower = PARTS;
                Arrays.stream(Pattern.values())
                        .filter(part -> part != Pattern.MIXED)
                        .forEach(this::add);
            }
        }
    }

    private void scans() {
        once(0, END_MILLIS / 2);
        List<int[]> prompts = new ArrayList<>();
        for (int stored = 0; stored < engine.capacity() * 3 / 2; ) {
            prompts.add(tokens.take(random.nextInt(512, longest())));
            stored += prompts.getLast().length;
        }
        long at = END_MILLIS / 2;
        for (int i = 0; at < END_MILLIS; i++) {
            at(at, prompts.get(i % prompts.size()), 8);
            at += gap(1_000);
        }
    }

    private void sharedTwice() {
        once(0, END_MILLIS);
        for (long at = 1_000; at < END_MILLIS; at += gap(4_000)) {
            // What exceeds the context is refused before it comes to the scheduler.
            int[] head = tokens.take(Math.min(engine.capacity() / random.nextInt(8, 24), engine.context() / 2));
            user(at, head);
            user(at + 300, head);
            long later = at + 2 * turnoverMillis();
            user(later, head);
            user(later + 300, head);
        }
    }

    private void byTurns() {
        once(0, END_MILLIS);
        List<int[]> heads = heads(3, Math.min(engine.capacity() * 3 / 10, engine.context() / 2));
        long at = 500;
        for (int i = 0; at < END_MILLIS; i++) {
            user(at, heads.get(i % heads.size()));
            at += gap(2_500);
        }
    }

    private void flips() {
        List<int[]> heads = heads(8, engine.capacity() / 12);
        long at = 500;
        while (at < END_MILLIS) {
            int[] popular = heads.get(random.nextInt(heads.size()));
            for (int i = 0; i < 12; i++) {
                user(at, popular);
                at += gap(200);
            }
            long until = at + turnoverMillis();
            once(at, until);
            at = until;
        }
    }

    private void bursts() {
        List<int[]> heads = heads(3, engine.capacity() / 16);
        long at = 500;
        while (at < END_MILLIS) {
            int[] head = heads.get(random.nextInt(heads.size()));
            for (int i = 0; i < 40; i++) {
                if (i % 3 == 0) {
                    user(at, head);
                } else {
                    at(at, tokens.take(random.nextInt(256, longest())), 8);
                }
            }
            at += gap(15_000);
        }
    }

    private void giants() {
        List<int[]> heads = heads(2, engine.capacity() / 12);
        int half = engine.capacity() / 2;
        int most = Math.min(engine.context(), engine.capacity()) - 64;
        long at = 500;
        for (int i = 0; at < END_MILLIS; i++) {
            user(at, heads.get(i % heads.size()));
            user(at + 400, heads.get(i % heads.size()));
            int giant = most <= half ? most : random.nextInt(half, Math.min(most, half * 3 / 2));
            at(at + gap(3_000), tokens.take(giant), 4);
            at += gap(8_000);
        }
    }

    private void conversations() {
        once(0, END_MILLIS);
        for (long start = 500; start < END_MILLIS; start += gap(5_000)) {
            int[] said = tokens.take(random.nextInt(200, engine.capacity() / 16));
            long at = start;
            for (int turn = random.nextInt(2, 6); turn > 0 && said.length < engine.context() / 4; turn--) {
                int answer = random.nextInt(8, 64);
                at(at, said, answer);
                said = tokens.after(VirtualEngine.answered(said, answer), random.nextInt(20, 120));
                at += (long) (turnoverMillis() * (0.5 + random.nextDouble()));
            }
        }
    }

    /** Prompts that come once, which turn the cache over in half a minute. */
    private void once(long from, long to) {
        double each = turnoverMillis() * (512.0 + longest()) / 2 / engine.capacity() * slower;
        for (double at = from; at < to; at += each * (0.5 + random.nextDouble())) {
            at((long) at, tokens.take(random.nextInt(512, longest())), random.nextInt(1, 40));
        }
    }

    private int longest() {
        return Math.min(2_048, engine.capacity() / 8);
    }

    private long turnoverMillis() {
        return 30_000;
    }

    private List<int[]> heads(int count, int length) {
        List<int[]> heads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            heads.add(tokens.take(length));
        }
        return heads;
    }

    private long gap(long meanMillis) {
        return (long) (slower * meanMillis * (0.5 + random.nextDouble()));
    }

    private void user(long millis, int[] head) {
        at(millis, tokens.after(head, random.nextInt(20, 200)), random.nextInt(1, 40));
    }

    private void at(long millis, int[] prompt, int answer) {
        if (millis < END_MILLIS) {
            all.add(new Timed(millis, new Request(prompt, answer)));
        }
    }
}
