package io.holdfast.embed.cell;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/** Store of a fleet within one process, whose engines share what they know without a server. */
public final class MemoryFleetStore implements FleetStore {
    /*
     * It answers as a Valkey server does, also where a key has what a call is not made for: one contract test compares
     * them, and whoever develops against this one finds nothing new at the other. It is plain Java where a cache library
     * would do, since embedders are promised no further library.
     *
     * Everything has an end, and all ends stand in one order. Each call first takes away what has ended, so that nothing
     * stays for long after its end though nobody asks for it, and no thread is needed; a store that nobody calls any more
     * keeps what it has, within its bounds. Where a bound is passed, what ends first goes first.
     *
     * A window that has too many sums keeps the largest three quarters of its bound: to cut it at each new one would be
     * to sort it at each.
     */

    /** Most keys. */
    public static final int MOST_KEYS = 1 << 16;
    /** Most bytes of keys, values and sums together. */
    public static final long MOST_STORED_BYTES = 32L << 20;
    /** Most sums in one window. */
    public static final int MOST_WINDOW = 1 << 16;

    private static final int SUM_BYTES = Long.BYTES + Double.BYTES;
    private static final Comparator<Map.Entry<Long, Double>> LARGEST_FIRST =
            Map.Entry.<Long, Double>comparingByValue().reversed().thenComparing(Map.Entry.comparingByKey());

    private final LongSupplier nanos;
    private final long start;
    private final TreeMap<String, Entry> entries = new TreeMap<>();
    private final TreeSet<Entry> ends =
            new TreeSet<>(Comparator.comparingLong(Entry::end).thenComparingLong(Entry::order));
    private long order;
    private long bytes;
    private boolean closed;

    private sealed interface Content {
        long bytes();
    }

    private static final class Value implements Content {
        private final byte[] value;

        Value(byte[] value) {
            this.value = value;
        }

        byte[] copy() {
            return value.clone();
        }

        @Override
        public long bytes() {
            return value.length;
        }
    }

    private record Window(Map<Long, Double> sums) implements Content {
        @Override
        public long bytes() {
            return (long) SUM_BYTES * sums.size();
        }
    }

    /**
     * What a key has.
     *
     * @param path the key as one text
     * @param end when it goes, in nanoseconds since the store began
     * @param order apart what ends together
     * @param bytes its weight when it was entered
     */
    private record Entry(String path, String name, Content content, long end, long order, long bytes) {}

    /** @param nanos monotonic clock, as {@link System#nanoTime} */
    public MemoryFleetStore(LongSupplier nanos) {
        this.nanos = nanos;
        this.start = nanos.getAsLong();
    }

    @Override
    public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
        return answered(() -> {
            enter(key, new Value(FleetStoreBounds.value(value).clone()), ttl);
            return null;
        });
    }

    @Override
    public CompletionStage<Optional<byte[]>> get(Key key) {
        return answered(() -> Optional.ofNullable(entries.get(path(key)))
                .map(entry -> value(key, entry).copy()));
    }

    @Override
    public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
        String first = path(new Key(cell, kind, "-"));
        String before = first.substring(0, first.length() - 1);
        return answered(() -> {
            Map<String, byte[]> listed = new HashMap<>();
            for (Entry entry : entries.tailMap(before).values()) {
                if (!entry.path().startsWith(before) || listed.size() >= Math.min(most, MOST_LISTED)) {
                    break;
                }
                if (entry.content() instanceof Value value) {
                    listed.put(entry.name(), value.copy());
                }
            }
            return listed;
        });
    }

    @Override
    public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
        return answered(() -> {
            FleetStoreBounds.millis(ttl);
            if (FleetStoreBounds.amounts(amounts).isEmpty()) {
                return null;
            }
            Map<Long, Double> sums = sums(window).orElseGet(HashMap::new);
            amounts.forEach((name, amount) -> sums.merge(name, amount, Double::sum));
            if (sums.size() > MOST_WINDOW) {
                List<Long> least = sums.entrySet().stream()
                        .sorted(LARGEST_FIRST)
                        .skip(MOST_WINDOW / 4 * 3)
                        .map(Map.Entry::getKey)
                        .toList();
                sums.keySet().removeAll(least);
            }
            enter(window, new Window(sums), ttl);
            return null;
        });
    }

    @Override
    public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
        return answered(() -> {
            SequencedMap<Long, Double> largest = new LinkedHashMap<>();
            if (most <= 0) {
                return largest;
            }
            sums(window).orElseGet(Map::of).entrySet().stream()
                    .sorted(LARGEST_FIRST)
                    .limit(Math.min(most, MOST_SUMS))
                    .forEach(sum -> largest.put(sum.getKey(), sum.getValue()));
            return largest;
        });
    }

    @Override
    public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
        return answered(() -> {
            byte[] name = FleetStoreBounds.owner(owner).getBytes(US_ASCII);
            FleetStoreBounds.millis(ttl);
            if (entries.containsKey(path(key))) {
                return false;
            }
            enter(key, new Value(name), ttl);
            return true;
        });
    }

    @Override
    public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
        return answered(() -> {
            byte[] name = FleetStoreBounds.owner(owner).getBytes(US_ASCII);
            FleetStoreBounds.millis(ttl);
            Optional<Value> there = Optional.ofNullable(entries.get(path(key))).map(entry -> value(key, entry));
            boolean mine = there.isPresent() && Arrays.equals(there.get().value, name);
            if (mine) {
                enter(key, there.get(), ttl);
            }
            return mine;
        });
    }

    @Override
    public String said() {
        return "the memory of this process answers";
    }

    @Override
    public void close() {
        synchronized (entries) {
            closed = true;
            entries.clear();
            ends.clear();
            bytes = 0;
        }
    }

    /** Keys that are there now, with those whose end came since the last call. */
    int keys() {
        synchronized (entries) {
            return entries.size();
        }
    }

    private <T> CompletionStage<T> answered(Supplier<T> call) {
        synchronized (entries) {
            try {
                if (closed) {
                    throw new FleetStoreException("The fleet's store in memory is closed, because its process ends.");
                }
                evict(now());
                return CompletableFuture.completedFuture(call.get());
            } catch (FleetStoreException e) {
                return CompletableFuture.failedFuture(e);
            }
        }
    }

    private void enter(Key key, Content content, Duration ttl) {
        String path = path(key);
        long end = now() + Duration.ofMillis(FleetStoreBounds.millis(ttl)).toNanos();
        Entry entry = new Entry(path, key.name(), content, end, order++, path.length() + content.bytes());
        Entry last = entries.put(path, entry);
        if (last != null) {
            ends.remove(last);
            bytes -= last.bytes();
        }
        ends.add(entry);
        bytes += entry.bytes();
        evict(Long.MIN_VALUE);
    }

    /** Takes away what has ended by then, and what is too much. */
    private void evict(long now) {
        while (!ends.isEmpty()
                && (ends.first().end() <= now || entries.size() > MOST_KEYS || bytes > MOST_STORED_BYTES)) {
            Entry first = ends.removeFirst();
            entries.remove(first.path());
            bytes -= first.bytes();
        }
    }

    private long now() {
        return nanos.getAsLong() - start;
    }

    private static Value value(Key key, Entry entry) {
        return switch (entry.content()) {
            case Value value -> value;
            case Window window -> throw another(key);
        };
    }

    private Optional<Map<Long, Double>> sums(Key key) {
        Entry entry = entries.get(path(key));
        if (entry == null) {
            return Optional.empty();
        }
        return switch (entry.content()) {
            case Window window -> Optional.of(window.sums());
            case Value value -> throw another(key);
        };
    }

    private static FleetStoreException another(Key key) {
        return new FleetStoreException("The key " + key.kind() + ":" + key.name()
                + " of the fleet's store has something of another kind; use one key for one thing.");
    }

    private static String path(Key key) {
        return key.cell() + ":" + key.kind() + ":" + key.name();
    }
}
