package io.holdfast.storm;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/** The calls of one sidecar to the pin routes of its engine, and all that can become of them on the way. */
final class VirtualNetwork {
    /** What the caller knows afterwards. */
    enum Fate {
        ANSWERED,
        /** No answer, and perhaps carried out all the same, perhaps only later. */
        UNCLEAR,
        /** Never left: a breaker, a refused connection. */
        NOT_SENT,
        /** The key is not accepted. */
        FORBIDDEN
    }

    /** {@code count} of blocks that the engine did it for. */
    record Reply(Fate fate, int count) {}

    /** How the network is; chances are of 100 calls. */
    record Weather(int lostCalls, int lostAnswers, int late, int refused, int forbidden, long slowest) {
        static final Weather FAIR = new Weather(0, 0, 0, 0, 0, 20 * Timeline.MILLI);

        boolean fair() {
            return equals(FAIR);
        }
    }

    static final long TIME_LIMIT = 5 * Timeline.SECOND;
    /** Nothing arrives later than this. */
    static final long LATEST = 15 * Timeline.SECOND;

    private final String who;
    private final Timeline time;
    private final SplittableRandom random;
    private final StormOracle oracle;
    private VirtualEngine engine;
    private Weather weather = Weather.FAIR;
    private final Disk disk;

    VirtualNetwork(
            String who, Timeline time, SplittableRandom random, StormOracle oracle, Disk disk, VirtualEngine engine) {
        this.disk = disk;
        this.who = who;
        this.time = time;
        this.random = random;
        this.oracle = oracle;
        this.engine = engine;
    }

    VirtualEngine engine() {
        return engine;
    }

    /** Calls from now on go to another engine. */
    void to(VirtualEngine other) {
        engine = other;
    }

    Weather weather() {
        return weather;
    }

    void weather(Weather other) {
        weather = other;
    }

    /** Whether a question without an effect is answered now. */
    boolean answersQuestions() {
        return engine.isUp() && !strikes(weather.refused()) && !strikes(weather.lostCalls());
    }

    void call(boolean pin, List<Long> blocks, Consumer<Reply> answer) {
        long[] hashes = blocks.stream().mapToLong(Long::longValue).toArray();
        if (strikes(weather.refused()) || !engine.isUp()) {
            time.after(Timeline.MILLI, () -> answer.accept(new Reply(Fate.NOT_SENT, 0)));
            return;
        }
        if (strikes(weather.forbidden())) {
            engine.ranks().forEach(rank -> oracle.forbidden(who, rank, hashes));
            time.after(5 * Timeline.MILLI, () -> answer.accept(new Reply(Fate.FORBIDDEN, 0)));
            return;
        }
        new Exchange(pin, hashes, answer).begin();
    }

    private boolean strikes(int chance) {
        return chance > 0 && random.nextInt(100) < chance;
    }

    private long travel() {
        return Timeline.MILLI + random.nextLong(weather.slowest());
    }

    private final class Exchange {
        private final boolean pin;
        private final long[] hashes;
        private final Consumer<Reply> answer;
        private final VirtualEngine to = engine;
        private boolean over;

        Exchange(boolean pin, long[] hashes, Consumer<Reply> answer) {
            this.pin = pin;
            this.hashes = hashes;
            this.answer = answer;
        }

        void begin() {
            if (pin) {
                to.ranks().forEach(rank -> oracle.sent(who, rank, hashes));
            } else {
                to.ranks().forEach(rank -> oracle.unpinSent(who, rank, hashes));
            }
            time.after(TIME_LIMIT, () -> end(new Reply(Fate.UNCLEAR, 0)));
            if (strikes(weather.lostCalls())) {
                return;
            }
            long way =
                    strikes(weather.late()) ? random.nextLong(TIME_LIMIT / 2, LATEST - 5 * Timeline.SECOND) : travel();
            boolean answerLost = strikes(weather.lostAnswers());
            time.after(way, () -> {
                if (pin && way > TIME_LIMIT) {
                    to.ranks().forEach(rank -> oracle.late(who, rank, hashes));
                }
                arrive(answerLost);
            });
        }

        /** Every rank gets the call, and the counts of all are added up. */
        private void arrive(boolean answerLost) {
            int[] counted = new int[2];
            Consumer<Integer> done = count -> {
                counted[0] += count;
                if (++counted[1] == to.ranks().size() && !answerLost) {
                    time.after(travel(), () -> end(new Reply(Fate.ANSWERED, counted[0])));
                }
            };
            Runnable reset = () -> time.after(travel(), () -> end(new Reply(Fate.UNCLEAR, 0)));
            for (VirtualEngine rank : to.ranks()) {
                if (pin) {
                    rank.pin(who, hashes, done, reset);
                } else {
                    rank.unpin(
                            who,
                            hashes,
                            count -> {
                                if (!disk.isFair()) {
                                    for (long hash : hashes) {
                                        oracle.troubledDisk(who, hash, rank);
                                    }
                                }
                                done.accept(count);
                            },
                            reset);
                }
            }
        }

        private void end(Reply reply) {
            if (!over) {
                over = true;
                // Where the disk does not take it down, the next life has to ask once more.
                if (pin && reply.fate() == Fate.ANSWERED && reply.count() == 0 && disk.isFair()) {
                    to.ranks().forEach(rank -> oracle.missed(who, rank, hashes));
                }
                answer.accept(reply);
            }
        }
    }
}
