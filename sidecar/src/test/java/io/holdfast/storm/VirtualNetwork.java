package io.holdfast.storm;

import io.holdfast.rules.engine.HoldOrder;
import io.holdfast.rules.engine.RequestOptions;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

/** The calls of one sidecar to its engine, and all that can become of them on the way. */
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
    /** A request waits for its turn, behind those of users. */
    private static final long QUEUE_LIMIT = 60 * Timeline.SECOND;
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

    /** A question without an effect, asked again until it is answered. */
    void question(BooleanSupplier wanted, Runnable answered) {
        boolean answers = answersQuestions();
        time.after(answers ? 5 * Timeline.MILLI : Timeline.SECOND, () -> {
            if (answers) {
                answered.run();
            } else if (wanted.getAsBoolean()) {
                question(wanted, answered);
            }
        });
    }

    /** A request of a prompt, which waits for its turn; the answer counts the tokens that were found in the cache. */
    void generate(int[] tokens, RequestOptions options, Consumer<Reply> answer) {
        VirtualEngine to = engine;
        if (!options.session().isEmpty()) {
            oracle.touches.opens(who, options.session());
        }
        options.order().ifPresent(order -> {
            switch (order) {
                case HoldOrder.Hold(String id, long _) -> oracle.touches.leases(who, id);
                case HoldOrder.Lease(String id) -> oracle.touches.leases(who, id);
                case HoldOrder.Release(List<String> ids) -> ids.forEach(id -> oracle.touches.closes(who, id));
                case HoldOrder.Listing() -> {}
            }
        });
        new Request(QUEUE_LIMIT, answer)
                .begin((served, lost) -> to.ask(
                        tokens,
                        options,
                        cached -> {
                            if (options.priority() > 0) {
                                oracle.touches.served(who, to, to.names(tokens));
                            }
                            served.accept(cached);
                        },
                        lost));
    }

    /** A touch is about to leave; {@code certain} is what the sidecar says of its view of the cache. */
    void touches(long lastBlock, Optional<String> unwanted, boolean certain) {
        boolean told = certain && oracle.watching() && oracle.isFair(who, 20 * Timeline.SECOND);
        oracle.touches.sends(who, engine, lastBlock, unwanted, told);
    }

    void close(String session, Consumer<Reply> answer) {
        VirtualEngine to = engine;
        oracle.touches.closes(who, session);
        new Request(TIME_LIMIT, answer).begin((served, lost) -> to.closeSession(session, () -> served.accept(1), lost));
    }

    private boolean strikes(int chance) {
        return chance > 0 && random.nextInt(100) < chance;
    }

    private long travel() {
        return Timeline.MILLI + random.nextLong(weather.slowest());
    }

    /** Hands the call to the engine, which counts what it did, or is gone before it has. */
    private interface Arrival {
        void at(IntConsumer served, Runnable lost);
    }

    /** One call to one engine. */
    private final class Request {
        private final long limit;
        private final Consumer<Reply> answer;
        private boolean over;

        Request(long limit, Consumer<Reply> answer) {
            this.limit = limit;
            this.answer = answer;
        }

        void begin(Arrival arrival) {
            if (strikes(weather.refused()) || !engine.isUp()) {
                time.after(Timeline.MILLI, () -> end(new Reply(Fate.NOT_SENT, 0)));
                return;
            }
            if (strikes(weather.forbidden())) {
                time.after(5 * Timeline.MILLI, () -> end(new Reply(Fate.FORBIDDEN, 0)));
                return;
            }
            time.after(limit, () -> end(new Reply(Fate.UNCLEAR, 0)));
            if (strikes(weather.lostCalls())) {
                return;
            }
            long way = strikes(weather.late()) ? random.nextLong(LATEST - 5 * Timeline.SECOND) : travel();
            boolean answerLost = strikes(weather.lostAnswers());
            time.after(
                    way,
                    () -> arrival.at(
                            count -> {
                                if (!answerLost) {
                                    time.after(travel(), () -> end(new Reply(Fate.ANSWERED, count)));
                                }
                            },
                            () -> time.after(travel(), () -> end(new Reply(Fate.UNCLEAR, 0)))));
        }

        private void end(Reply reply) {
            if (!over) {
                over = true;
                answer.accept(reply);
            }
        }
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
