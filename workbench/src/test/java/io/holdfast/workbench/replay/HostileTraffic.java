package io.holdfast.workbench.replay;

import io.holdfast.loadtest.trace.Trace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/** An hour of traffic that is out to make pins do harm, by kind and seed. */
final class HostileTraffic {
    /** What is hostile about it. */
    enum Kind {
        /** Conversations, and each five minutes a minute of prompts that never come again. */
        ONE_SHOT_FLOODS,
        /** Documents that are read one after another, round and round. */
        SCANS,
        /** Each ten minutes all conversations end, and others begin with other system prompts. */
        PHASES,
        /** Conversations that stop for half an hour and then go on once. */
        SLEEPERS,
        /** A few prefixes that most prompts begin with, and every seven minutes others. */
        MOVING_HOT_SET,
        /** Conversations whose hints are right for ten minutes and wrong ever after. */
        LYING_HINTS,
        /** Prompts that come six times within half a minute and never again. */
        BURSTS,
        /** Some of each. */
        ALL
    }

    static final long LIES_FROM_NANOS = 600_000_000_000L;

    private static final double SECONDS = 3_900;
    private static final int BLOCK_TOKENS = 512;

    /** One request: when, and its path. */
    private static final class Sent {
        private final double seconds;
        private final int[] path;

        Sent(double seconds, int[] path) {
            this.seconds = seconds;
            this.path = path;
        }
    }

    private final SplittableRandom random;
    private final List<Sent> sent = new ArrayList<>();
    private int blocks;

    private HostileTraffic(long seed) {
        random = new SplittableRandom(seed);
    }

    static Trace of(Kind kind, long seed) {
        HostileTraffic traffic =
                new HostileTraffic(1_000 * seed + List.of(Kind.values()).indexOf(kind));
        traffic.add(kind);
        return traffic.build(kind + "-" + seed);
    }

    private void add(Kind kind) {
        switch (kind) {
            case ONE_SHOT_FLOODS -> {
                conversations(0, SECONDS, 0.25, fresh(4));
                for (double at = 200; at < SECONDS; at += 300) {
                    oneShots(at, at + 60, 8);
                }
            }
            case SCANS -> {
                conversations(0, SECONDS, 0.1, fresh(4));
                List<int[]> documents = new ArrayList<>();
                for (int i = 0; i < 150; i++) {
                    documents.add(fresh(5 + random.nextInt(20)));
                }
                int next = 0;
                for (double at = 0; at < SECONDS; at += gap(1.5)) {
                    sent.add(new Sent(at, below(documents.get(next++ % documents.size()), 1)));
                }
            }
            case PHASES -> {
                for (double from = 0; from < SECONDS; from += 600) {
                    conversations(from, Math.min(SECONDS, from + 600), 0.4, fresh(4 + random.nextInt(8)));
                }
            }
            case SLEEPERS -> {
                for (double at = 0; at < SECONDS; at += gap(0.4)) {
                    int[] path = fresh(4 + random.nextInt(10));
                    double turn = at;
                    for (int i = 0; i < 5; i++) {
                        sent.add(new Sent(turn, path));
                        path = below(path, 1 + random.nextInt(3));
                        turn += 5 + gap(0.1);
                    }
                    sent.add(new Sent(turn + 1_200 + 1_200 * random.nextDouble(), path));
                }
            }
            case MOVING_HOT_SET -> {
                for (double from = 0; from < SECONDS; from += 420) {
                    List<int[]> hot = new ArrayList<>();
                    for (int i = 0; i < 12; i++) {
                        hot.add(fresh(6 + random.nextInt(20)));
                    }
                    for (double at = from; at < Math.min(SECONDS, from + 420); at += gap(1)) {
                        double drawn = random.nextDouble();
                        int[] prefix = drawn < 0.7 ? hot.get((int) (hot.size() * drawn * drawn)) : fresh(6);
                        sent.add(new Sent(at, below(prefix, 2 + random.nextInt(4))));
                    }
                }
            }
            case LYING_HINTS -> conversations(0, SECONDS, 0.5, fresh(4));
            case BURSTS -> {
                conversations(0, SECONDS, 0.15, fresh(4));
                for (double at = 0; at < SECONDS; at += gap(0.12)) {
                    int[] path = fresh(8 + random.nextInt(10));
                    for (int i = 0; i < 6; i++) {
                        sent.add(new Sent(at + 30 * random.nextDouble(), below(path, 1)));
                    }
                }
            }
            case ALL -> {
                for (Kind each : Kind.values()) {
                    if (each != Kind.ALL) {
                        int before = sent.size();
                        add(each);
                        for (int i = sent.size() - 1; i >= before; i--) {
                            if (random.nextInt(4) > 0) {
                                sent.remove(i);
                            }
                        }
                    }
                }
            }
        }
    }

    /** New ones begin at a rate, all below one system prompt; most go on for some turns. */
    private void conversations(double from, double until, double perSecond, int[] system) {
        for (double at = from + gap(perSecond); at < until; at += gap(perSecond)) {
            int[] path = below(system, 2 + random.nextInt(12));
            double turn = at;
            do {
                sent.add(new Sent(turn, path));
                path = below(path, 1 + random.nextInt(4));
                turn += 10 + gap(0.015);
            } while (turn < until && random.nextDouble() < 0.6);
        }
    }

    private void oneShots(double from, double until, double perSecond) {
        for (double at = from; at < Math.min(SECONDS, until); at += gap(perSecond)) {
            sent.add(new Sent(at, fresh(4 + random.nextInt(16))));
        }
    }

    private double gap(double perSecond) {
        return -Math.log(1 - random.nextDouble()) / perSecond;
    }

    private int[] fresh(int length) {
        return below(new int[0], length);
    }

    private int[] below(int[] prefix, int length) {
        int[] path = Arrays.copyOf(prefix, prefix.length + length);
        for (int depth = prefix.length; depth < path.length; depth++) {
            path[depth] = blocks++;
        }
        return path;
    }

    private Trace build(String name) {
        sent.sort(Comparator.comparingDouble(one -> one.seconds));
        Trace.Builder builder = new Trace.Builder(name, BLOCK_TOKENS);
        int[] numbers = new int[blocks];
        int given = 0;
        for (Sent one : sent) {
            if (one.seconds >= SECONDS) {
                break;
            }
            builder.begin((long) (one.seconds * 1e9), one.path.length * BLOCK_TOKENS, 100);
            for (int block : one.path) {
                if (numbers[block] == 0) {
                    numbers[block] = ++given;
                }
                builder.block(numbers[block] - 1);
            }
        }
        return builder.build();
    }
}
