package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.embed.cell.FleetStore.Key;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryFleetStoreTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final Duration TTL = Duration.ofSeconds(10);

    // Near its end, so that it wraps while a test runs.
    private final AtomicLong nanos =
            new AtomicLong(Long.MAX_VALUE - Duration.ofSeconds(3).toNanos());
    private final MemoryFleetStore store = new MemoryFleetStore(nanos::get);

    private static Key key(String name) {
        return new Key("cell", "digest", name);
    }

    private static <T> T done(CompletionStage<T> stage) {
        assertThat(stage.toCompletableFuture()).isDone();
        return stage.toCompletableFuture().join();
    }

    private void pass(Duration time) {
        nanos.addAndGet(time.toNanos());
    }

    /** Values with their ends, looked through from end to end, beside the store. */
    @Test
    void randomOperations_areAnsweredAsByALookThroughAll() {
        record Lasting(byte[] value, long end) {}
        for (int seed = 0; seed < (DEEP ? 500 : 20); seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Map<String, Lasting> model = new HashMap<>();
            MemoryFleetStore tried = new MemoryFleetStore(nanos::get);
            for (int i = 0; i < 500; i++) {
                pass(Duration.ofMillis(random.nextInt(40)));
                long now = nanos.get();
                model.values().removeIf(each -> each.end() - now <= 0);
                String name = "n" + random.nextInt(8);
                Duration ttl = Duration.ofMillis(1 + random.nextInt(400));
                byte[] value = {(byte) ('a' + random.nextInt(3))};
                String owner = new String(value, java.nio.charset.StandardCharsets.US_ASCII);
                Lasting put = new Lasting(value, now + ttl.toNanos());
                Optional<Lasting> there = Optional.ofNullable(model.get(name));
                switch (random.nextInt(5)) {
                    case 0 -> {
                        done(tried.put(key(name), value, ttl));
                        model.put(name, put);
                    }
                    case 1 ->
                        assertThat(done(tried.get(key(name))).map(Arrays::toString))
                                .isEqualTo(there.map(Lasting::value).map(Arrays::toString));
                    case 2 -> {
                        assertThat(done(tried.acquire(key(name), owner, ttl))).isEqualTo(there.isEmpty());
                        model.putIfAbsent(name, put);
                    }
                    case 3 -> {
                        boolean mine =
                                there.isPresent() && Arrays.equals(there.get().value(), value);
                        assertThat(done(tried.renew(key(name), owner, ttl))).isEqualTo(mine);
                        if (mine) {
                            model.put(name, put);
                        }
                    }
                    default ->
                        assertThat(done(tried.list("cell", "digest", 10))).containsOnlyKeys(model.keySet());
                }
            }
            assertThat(tried.keys())
                    .isEqualTo(done(tried.list("cell", "digest", 10)).size());
        }
    }

    @Test
    void whatHasEnded_goesThoughNobodyAsksForIt() {
        for (int i = 0; i < 100; i++) {
            done(store.put(key("n" + i), new byte[] {1}, TTL));
        }
        pass(TTL);
        done(store.get(new Key("other", "digest", "one")));
        assertThat(store.keys()).isZero();
    }

    @Test
    void keysBeyondTheBound_pushOutWhatEndsFirst() {
        for (int i = 0; i < MemoryFleetStore.MOST_KEYS; i++) {
            done(store.put(key("n" + i), new byte[] {1}, TTL.plusMillis(i)));
        }
        done(store.put(key("last"), new byte[] {1}, TTL.multipliedBy(100)));
        assertThat(store.keys()).isEqualTo(MemoryFleetStore.MOST_KEYS);
        assertThat(done(store.get(key("n0")))).isEmpty();
        assertThat(done(store.get(key("n1")))).isPresent();
        assertThat(done(store.get(key("last")))).isPresent();
        // What ends before all else has no place.
        done(store.put(key("short"), new byte[] {1}, Duration.ofMillis(1)));
        assertThat(done(store.get(key("short")))).isEmpty();
    }

    @Test
    void bytesBeyondTheBound_pushOutWhatEndsFirst() {
        byte[] value = new byte[FleetStore.MOST_BYTES];
        int fit = (int) (MemoryFleetStore.MOST_STORED_BYTES / FleetStore.MOST_BYTES);
        for (int i = 0; i < 2 * fit; i++) {
            done(store.put(key("n" + i), value, TTL.plusMillis(i)));
        }
        assertThat(store.keys()).isLessThan(fit).isGreaterThan(fit - 200);
        assertThat(done(store.get(key("n" + (2 * fit - 1))))).isPresent();
        // A value in the place of another takes its room alone.
        int before = store.keys();
        IntStream.range(0, 100).forEach(i -> done(store.put(key("n" + (2 * fit - 1)), value, TTL.multipliedBy(9))));
        assertThat(store.keys()).isEqualTo(before);
    }

    @Test
    void sumsBeyondTheBound_goSmallestFirst() {
        Key window = new Key("cell", "heat", "w");
        int step = FleetStore.MOST_SUMS;
        for (int from = 0; from <= MemoryFleetStore.MOST_WINDOW; from += step) {
            Map<Long, Double> amounts = LongStream.range(from, from + step)
                    .boxed()
                    .collect(Collectors.toMap(name -> name, name -> (double) name));
            done(store.add(window, amounts, TTL));
        }
        List<Long> names = new ArrayList<>(done(store.top(window, 3)).keySet());
        long last = MemoryFleetStore.MOST_WINDOW + step - 1;
        assertThat(names).containsExactly(last, last - 1, last - 2);
        // Had it not gone, it would have 1 more.
        done(store.add(window, Map.of(1L, 1e9), TTL));
        assertThat(done(store.top(window, 1))).isEqualTo(Map.of(1L, 1e9));
        assertThat(done(store.top(window, Integer.MAX_VALUE))).hasSize(FleetStore.MOST_SUMS);
    }

    @Test
    void whoKeepsAnArray_changesNothingInTheStore() {
        byte[] value = {1};
        done(store.put(key("one"), value, TTL));
        value[0] = 2;
        done(store.get(key("one"))).orElseThrow()[0] = 3;
        done(store.list("cell", "digest", 1)).get("one")[0] = 4;
        assertThat(done(store.get(key("one")))).contains(new byte[] {1});
    }

    @Test
    void manyThreads_addUpToWhatEachAdded() throws InterruptedException {
        Key window = new Key("cell", "heat", "w");
        CountDownLatch over = new CountDownLatch(8);
        for (int thread = 0; thread < 8; thread++) {
            Thread.ofVirtual().start(() -> {
                for (int i = 0; i < 1_000; i++) {
                    store.add(window, Map.of((long) (i % 10), 1.0), TTL);
                    store.top(window, 5);
                }
                over.countDown();
            });
        }
        over.await();
        assertThat(done(store.top(window, 100)).values()).hasSize(10).containsOnly(800.0);
    }

    @Test
    void whatIsNoneForAStore_isRefusedInOneSentence() {
        List<CompletionStage<?>> refused = List.of(
                store.put(key("one"), new byte[0], TTL),
                store.put(key("one"), new byte[FleetStore.MOST_BYTES + 1], TTL),
                store.put(key("one"), new byte[1], Duration.ZERO),
                store.put(key("one"), new byte[1], FleetStore.LONGEST_TTL.plusMillis(1)),
                store.add(key("one"), Map.of(1L, Double.NaN), TTL),
                store.add(key("one"), Map.of(1L, Double.POSITIVE_INFINITY), TTL),
                store.acquire(key("one"), "two words", TTL),
                store.renew(key("one"), "", TTL));
        assertThat(refused)
                .allSatisfy(stage -> assertThatThrownBy(stage.toCompletableFuture()::join)
                        .isInstanceOf(CompletionException.class)
                        .cause()
                        .isInstanceOf(FleetStoreException.class)
                        .hasMessageMatching("[A-Z].*; [^.]+\\."));
        assertThat(store.keys()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a b", "a*", "a}b", "ä", "a\n"})
    void partThatIsNoName_isNoKey(String part) {
        assertThatThrownBy(() -> new Key("c", "k", part)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Key(part, "k", "n")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Key("c", "a:b", "n")).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> new Key("c", "k", "n".repeat(FleetStore.LONGEST_NAME + 1)))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
