package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Store in a map, by a clock that is handed in, which can be told to misbehave. */
final class MapStore implements FleetStore {
    /** What a store does with calls. */
    enum Mood {
        WELL,
        /** Fails each call. */
        FAILING,
        /** Throws in the place of an answer. */
        THROWING,
        /** Never answers. */
        SILENT,
        /** Answers calls as it should, when it is let. */
        LATE,
        /** Takes what is put and forgets it, and answers as of when it froze. */
        FROZEN
    }

    private record Kept(byte[] value, long end) {}

    private final LongSupplier clock;
    private final Map<Key, Kept> values = new HashMap<>();
    private final Map<Key, Map<Long, Double>> windows = new HashMap<>();
    private final Map<Key, Long> windowEnds = new HashMap<>();
    private final List<Runnable> late = new ArrayList<>();
    Mood mood = Mood.WELL;
    int calls;
    int open;

    MapStore(LongSupplier clock) {
        this.clock = clock;
    }

    void clear() {
        values.clear();
        windows.clear();
    }

    void answerLate() {
        List<Runnable> now = List.copyOf(late);
        late.clear();
        now.forEach(Runnable::run);
    }

    int windows() {
        expire();
        return windows.size();
    }

    Map<Key, byte[]> all() {
        Map<Key, byte[]> all = new HashMap<>();
        values.forEach((key, kept) -> all.put(key, kept.value));
        return all;
    }

    /** Puts a value whatever its mood. */
    void plant(Key key, byte[] value) {
        values.put(key, new Kept(value, clock.getAsLong() + 45_000_000_000L));
    }

    private <T> CompletionStage<T> answer(boolean writes, T instead, Supplier<T> work) {
        calls++;
        return switch (mood) {
            case WELL -> CompletableFuture.completedFuture(work.get());
            case FROZEN -> CompletableFuture.completedFuture(writes ? instead : work.get());
            case FAILING -> CompletableFuture.failedFuture(new FleetStoreException("The store is not well."));
            case THROWING -> throw new FleetStoreException("The store is not well at all.");
            case SILENT -> new CompletableFuture<>();
            case LATE -> {
                CompletableFuture<T> answer = new CompletableFuture<>();
                open++;
                late.add(() -> {
                    open--;
                    answer.complete(work.get());
                });
                yield answer;
            }
        };
    }

    @Override
    @SuppressWarnings("NullAway") // The answer of a put has no value.
    public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
        return answer(true, null, () -> {
            values.put(key, new Kept(value.clone(), clock.getAsLong() + ttl.toNanos()));
            return null;
        });
    }

    @Override
    public CompletionStage<Optional<byte[]>> get(Key key) {
        return answer(false, Optional.empty(), () -> {
            expire();
            return Optional.ofNullable(values.get(key)).map(Kept::value);
        });
    }

    @Override
    public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
        return answer(false, Map.of(), () -> {
            expire();
            Map<String, byte[]> found = new HashMap<>();
            values.entrySet().stream()
                    .filter(each -> each.getKey().cell().equals(cell)
                            && each.getKey().kind().equals(kind))
                    .limit(most)
                    .forEach(each -> found.put(each.getKey().name(), each.getValue().value));
            return found;
        });
    }

    @Override
    @SuppressWarnings("NullAway") // The answer of an addition has no value.
    public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
        return answer(true, null, () -> {
            expire();
            Map<Long, Double> sums = windows.computeIfAbsent(window, key -> new HashMap<>());
            amounts.forEach((name, amount) -> sums.merge(name, amount, Double::sum));
            windowEnds.put(window, clock.getAsLong() + ttl.toNanos());
            return null;
        });
    }

    @Override
    public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
        return answer(false, new LinkedHashMap<>(), () -> {
            expire();
            SequencedMap<Long, Double> top = new LinkedHashMap<>();
            windows.getOrDefault(window, Map.of()).entrySet().stream()
                    .sorted(Map.Entry.<Long, Double>comparingByValue()
                            .reversed()
                            .thenComparing(Map.Entry.comparingByKey(Comparator.naturalOrder())))
                    .limit(most)
                    .forEach(each -> top.put(each.getKey(), each.getValue()));
            return top;
        });
    }

    @Override
    public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
        throw new UnsupportedOperationException("Nothing here acquires.");
    }

    @Override
    public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
        throw new UnsupportedOperationException("Nothing here renews.");
    }

    @Override
    public String said() {
        return "a map";
    }

    @Override
    public void close() {}

    private void expire() {
        long now = clock.getAsLong();
        values.values().removeIf(each -> each.end - now <= 0);
        windows.keySet().removeIf(each -> windowEnds.getOrDefault(each, now) - now <= 0);
    }
}
