package io.holdfast.storm;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.FleetStoreException;
import io.holdfast.embed.cell.MemoryFleetStore;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A fleet's store in virtual time, with all that can become of a call on its way to it. Each engine has a line of its own,
 * so that some may reach another half.
 */
final class StormStore {
    /** How it is now. */
    enum Mood {
        FAIR,
        /** Answers late, some after their caller has given up. */
        SLOW,
        /** Never answers, and does half of what it is told all the same. */
        SILENT,
        /** Fails, or throws, and does some of it all the same. */
        FAILING,
        /** Shows what it had, and forgets what it is told. */
        FROZEN
    }

    /** What was put, as somebody may put it again. */
    record Put(FleetStore.Key key, byte[] value) {}

    private record Lasting(byte[] value, long end) {}

    private static final int REMEMBERED = 600;
    private static final long LATEST = 15 * Timeline.SECOND;

    private final Timeline time;
    private final SplittableRandom random;
    private final Deque<Put> past = new ArrayDeque<>();
    private final Map<FleetStore.Key, Lasting> newest = new LinkedHashMap<>();
    private final Map<FleetStore.Key, Lasting> lies = new LinkedHashMap<>();
    private MemoryFleetStore main;
    private Optional<MemoryFleetStore> otherHalf = Optional.empty();
    private Optional<MemoryFleetStore> frozen = Optional.empty();
    private Set<String> parted = Set.of();
    private Mood mood = Mood.FAIR;

    StormStore(Timeline time, SplittableRandom random) {
        this.time = time;
        this.random = random;
        this.main = new MemoryFleetStore(time::now);
    }

    void mood(Mood other) {
        mood = other;
        frozen = other == Mood.FROZEN ? Optional.of(copy()) : Optional.empty();
    }

    /** Begins anew with nothing. */
    void empty() {
        main = new MemoryFleetStore(time::now);
        newest.clear();
        lies.clear();
    }

    /** From now on these reach another half, which knows what all knew or nothing. */
    void part(Set<String> others) {
        parted = new HashSet<>(others);
        otherHalf = Optional.of(random.nextBoolean() ? copy() : new MemoryFleetStore(time::now));
    }

    void heal() {
        parted = Set.of();
        otherHalf = Optional.empty();
    }

    /** What was put lately, the oldest first. */
    List<Put> past() {
        return new ArrayList<>(past);
    }

    /** Answers with this for a while, whatever is put. */
    void insists(FleetStore.Key key, byte[] value, long nanos) {
        lies.put(key, new Lasting(value, time.now() + nanos));
    }

    private Map<String, byte[]> lied(String kind, Map<String, byte[]> listed) {
        lies.values().removeIf(lie -> lie.end() <= time.now());
        Map<String, byte[]> answer = new LinkedHashMap<>(listed);
        lies.forEach((key, lie) -> {
            if (key.kind().equals(kind)) {
                answer.put(key.name(), lie.value());
            }
        });
        return answer;
    }

    /** Somebody else puts something. */
    void puts(FleetStore.Key key, byte[] value, Duration ttl) {
        CompletionStage<?> _ = main.put(key, value, ttl);
    }

    /** The way of one engine to it. */
    FleetStore line(String who) {
        return new Line(who);
    }

    private MemoryFleetStore copy() {
        MemoryFleetStore copy = new MemoryFleetStore(time::now);
        newest.values().removeIf(each -> each.end() <= time.now());
        newest.forEach((key, each) -> {
            CompletionStage<?> _ =
                    copy.put(key, each.value(), Duration.ofMillis(1 + (each.end() - time.now()) / Timeline.MILLI));
        });
        return copy;
    }

    private void remember(FleetStore.Key key, byte[] value, Duration ttl) {
        newest.put(key, new Lasting(value, time.now() + ttl.toNanos()));
        past.addLast(new Put(key, value));
        if (past.size() > REMEMBERED) {
            past.removeFirst();
        }
    }

    private final class Line implements FleetStore {
        private final String who;

        Line(String who) {
            this.who = who;
        }

        private MemoryFleetStore reached() {
            return parted.contains(who) ? otherHalf.orElse(main) : main;
        }

        private <T> CompletionStage<T> write(Supplier<CompletionStage<T>> call, T forgotten) {
            return mood == Mood.FROZEN
                    ? answer(() -> CompletableFuture.completedFuture(forgotten), 20 * Timeline.MILLI)
                    : called(call);
        }

        private <T> CompletionStage<T> called(Supplier<CompletionStage<T>> call) {
            switch (mood) {
                case FAIR, FROZEN -> {
                    return answer(call, 20 * Timeline.MILLI);
                }
                case SLOW -> {
                    return answer(call, random.nextBoolean() ? LATEST : Timeline.SECOND);
                }
                case SILENT -> {
                    if (random.nextBoolean()) {
                        time.after(random.nextLong(LATEST), call::get);
                    }
                    return new CompletableFuture<>();
                }
                case FAILING -> {
                    if (random.nextInt(3) == 0) {
                        time.after(random.nextLong(Timeline.SECOND), call::get);
                    }
                    FleetStoreException failure = new FleetStoreException("The storm has the call fail.");
                    if (random.nextInt(8) == 0) {
                        throw failure;
                    }
                    return answer(() -> CompletableFuture.failedFuture(failure), Timeline.SECOND);
                }
            }
            throw new AssertionError(mood);
        }

        /** Does it on the way, and answers with what is so then. */
        private <T> CompletionStage<T> answer(Supplier<CompletionStage<T>> call, long within) {
            CompletableFuture<T> answer = new CompletableFuture<>();
            long there = random.nextLong(within);
            time.after(there, () -> {
                CompletionStage<T> done = call.get();
                time.after(
                        random.nextLong(within - there) + 1,
                        () -> done.whenComplete((value, failure) -> {
                            if (failure != null) {
                                answer.completeExceptionally(failure);
                            } else {
                                answer.complete(value);
                            }
                        }));
            });
            return answer;
        }

        @Override
        public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
            return write(
                    () -> {
                        if (reached() == main) {
                            remember(key, value, ttl);
                        }
                        return reached().put(key, value, ttl);
                    },
                    null);
        }

        @Override
        public CompletionStage<Optional<byte[]>> get(Key key) {
            return called(() -> frozen.orElseGet(this::reached).get(key));
        }

        @Override
        public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
            return called(() ->
                    frozen.orElseGet(this::reached).list(cell, kind, most).thenApply(listed -> lied(kind, listed)));
        }

        @Override
        public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
            return write(() -> reached().add(window, amounts, ttl), null);
        }

        @Override
        public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
            return called(() -> reached().top(window, most));
        }

        @Override
        public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
            return write(() -> reached().acquire(key, owner, ttl), false);
        }

        @Override
        public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
            return write(() -> reached().renew(key, owner, ttl), false);
        }

        @Override
        public String said() {
            return "the storm's store is " + mood;
        }

        @Override
        public void close() {}
    }
}
