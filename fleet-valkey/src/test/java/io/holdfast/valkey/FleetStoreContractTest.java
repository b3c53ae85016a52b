package io.holdfast.valkey;

import static io.holdfast.valkey.Stores.LONG;
import static io.holdfast.valkey.Stores.PATIENT;
import static io.holdfast.valkey.Stores.done;
import static io.holdfast.valkey.Stores.works;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.FleetStore.Key;
import io.holdfast.embed.cell.FleetStoreException;
import io.holdfast.embed.cell.MemoryFleetStore;
import java.nio.file.Path;
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
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** One contract for all stores: in memory, on one server, on a cluster of three. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class FleetStoreContractTest {
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int OPERATIONS = DEEP ? 200_000 : 4_000;

    /** Where a store is. */
    enum Kind {
        MEMORY,
        SERVER,
        CLUSTER
    }

    private final List<LocalValkey> servers = new ArrayList<>();
    private final Map<Kind, FleetStore> stores = new HashMap<>();

    @BeforeAll
    void start(@TempDir Path directory) {
        servers.add(LocalValkey.start(directory.resolve("one")));
        stores.put(Kind.MEMORY, new MemoryFleetStore(System::nanoTime));
        stores.put(Kind.SERVER, Stores.open(servers.getFirst().address() + "/1", PATIENT));
        List<LocalValkey> cluster = cluster(directory);
        servers.addAll(cluster);
        stores.put(
                Kind.CLUSTER,
                Stores.open(
                        "valkey-cluster://127.0.0.1:" + cluster.get(2).port() + ",127.0.0.1:"
                                + cluster.getFirst().port(),
                        PATIENT));
    }

    @AfterAll
    void stop() {
        stores.values().forEach(FleetStore::close);
        servers.forEach(LocalValkey::close);
    }

    /** Three servers that share the slots. */
    static List<LocalValkey> cluster(Path directory) {
        List<LocalValkey> nodes = new ArrayList<>();
        List<Integer> buses = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            buses.add(LocalValkey.freePort());
            nodes.add(LocalValkey.start(
                    directory.resolve("node" + i),
                    "--cluster-enabled",
                    "yes",
                    "--cluster-port",
                    buses.get(i).toString()));
            int last = i == 2 ? 16_383 : 5_461 * (i + 1) - 1;
            assertThat(nodes.get(i)
                            .ask("CLUSTER", "ADDSLOTSRANGE", Integer.toString(5_461 * i), Integer.toString(last)))
                    .isEqualTo("OK");
        }
        for (int i = 1; i < 3; i++) {
            nodes.getFirst()
                    .ask(
                            "CLUSTER",
                            "MEET",
                            "127.0.0.1",
                            Integer.toString(nodes.get(i).port()),
                            buses.get(i).toString());
        }
        LocalValkey.await(
                "a cluster of three",
                () -> nodes.stream()
                        .map(node -> node.ask("CLUSTER", "INFO"))
                        .allMatch(info -> info.contains("state:ok") && info.contains("cluster_known_nodes:3")));
        return nodes;
    }

    @ParameterizedTest
    @EnumSource(names = {"SERVER", "CLUSTER"})
    void randomOperations_areAnsweredAsInMemory(Kind kind) {
        FleetStore real = stores.get(kind);
        MemoryFleetStore memory = new MemoryFleetStore(System::nanoTime);
        SplittableRandom random = new SplittableRandom(40);
        Map<String, Integer> answers = new HashMap<>();
        for (int i = 0; i < OPERATIONS; i++) {
            Function<FleetStore, CompletionStage<?>> operation = operation(random);
            String answer = said(operation.apply(real));
            assertThat(answer).as("operation %s", i).isEqualTo(said(operation.apply(memory)));
            answers.merge(answer.split("[ =]")[0], 1, Integer::sum);
        }
        // Both a success and a failure of each sort have come up.
        assertThat(answers).containsKeys("true", "false", "failed", "value", "none", "null", "{", "top");
    }

    private static Function<FleetStore, CompletionStage<?>> operation(SplittableRandom random) {
        String cell = "cell" + random.nextInt(4);
        String kind = List.of("digest", "lease", "heat").get(random.nextInt(3));
        Key key = new Key(cell, kind, "n:" + random.nextInt(6));
        String owner = "owner" + random.nextInt(3);
        // Mostly what the kind is meant for, and sometimes not.
        int what = random.nextInt(10) == 0
                ? random.nextInt(30)
                : 10 * List.of("digest", "lease", "heat").indexOf(kind) + random.nextInt(10);
        if (what < 5) {
            byte[] value = new byte[List.of(0, 1, 8, 300, 8_192, 8_193).get(random.nextInt(6))];
            for (int i = 0; i < value.length; i++) {
                value[i] = (byte) random.nextInt(256);
            }
            return store -> store.put(key, value, LONG);
        }
        if (what < 8) {
            return store -> store.get(key);
        }
        if (what < 10) {
            Map<String, Integer> all = Map.of("digest", 100, "lease", 100, "heat", 100, "none", 0);
            return random.nextBoolean() ? store -> store.list(cell, all) : store -> store.list(cell, kind, 100);
        }
        if (what < 15) {
            return store -> store.acquire(key, owner, LONG);
        }
        if (what < 20) {
            Duration ttl = random.nextInt(9) == 0 ? Duration.ZERO : LONG;
            return store -> store.renew(key, owner, ttl);
        }
        if (what < 26) {
            Map<Long, Double> amounts = new HashMap<>();
            int count = random.nextInt(5) == 0 ? 150 : random.nextInt(4);
            for (int i = 0; i < count; i++) {
                long name = random.nextInt(3) == 0 ? random.nextLong() : random.nextInt(-3, 3);
                // Few amounts, so that sums are equal often; some that are none.
                amounts.put(name, random.nextInt(400) == 0 ? Double.NaN : random.nextInt(-2, 9) / 3.0);
            }
            return store -> store.add(key, amounts, LONG);
        }
        int most = random.nextInt(-1, 30);
        return store -> store.top(key, most);
    }

    /** An answer as text. What a failure says is each store's own. */
    private static String said(CompletionStage<?> stage) {
        try {
            Object answer = stage.toCompletableFuture().join();
            return switch (answer) {
                case null -> "null";
                case Optional<?> value ->
                    value.map(bytes -> "value " + Arrays.hashCode((byte[]) bytes))
                            .orElse("none");
                case java.util.LinkedHashMap<?, ?> sums -> "top " + sums;
                case Map<?, ?> values -> listed(values);
                default -> answer.toString();
            };
        } catch (CompletionException e) {
            assertThat(e.getCause()).isInstanceOf(FleetStoreException.class);
            assertThat(e.getCause().getMessage()).endsWith(".").contains("; ");
            return "failed";
        }
    }

    private static String listed(Map<?, ?> values) {
        return values.entrySet().stream()
                .map(each -> each.getKey() + "="
                        + (each.getValue() instanceof Map<?, ?> kind
                                ? listed(kind)
                                : Arrays.hashCode((byte[]) each.getValue())))
                .sorted()
                .collect(Collectors.joining(", ", "{ ", "}"));
    }

    @ParameterizedTest
    @EnumSource
    void valueThatHasEnded_isGone(Kind kind) {
        FleetStore store = stores.get(kind);
        Key key = new Key("ends", "digest", "short");
        done(store.put(key, new byte[] {1}, LONG));
        assertThat(done(store.get(key))).isPresent();
        done(store.put(key, new byte[] {1}, Duration.ofMillis(20)));
        LocalValkey.await("the end of a value", () -> done(store.get(key)).isEmpty());
        assertThat(done(store.list("ends", "digest", 10))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void window_endsSoLongAfterItWasAddedToLast(Kind kind) {
        FleetStore store = stores.get(kind);
        Key window = new Key("ends", "heat", "w1");
        done(store.add(window, Map.of(7L, 1.0), Duration.ofMillis(20)));
        LocalValkey.await(
                "the end of a window", () -> done(store.top(window, 1)).isEmpty());
        done(store.add(window, Map.of(7L, 1.0), Duration.ofMillis(1)));
        done(store.add(window, Map.of(7L, 2.0), LONG));
        assertThat(done(store.top(window, 10))).hasSize(1);
    }

    @ParameterizedTest
    @EnumSource
    void leaseThatNobodyRenews_isTheNextOnes(Kind kind) {
        FleetStore store = stores.get(kind);
        Key lease = new Key("ends", "lease", "actor");
        assertThat(done(store.acquire(lease, "one", LONG))).isTrue();
        assertThat(done(store.acquire(lease, "two", LONG))).isFalse();
        assertThat(done(store.acquire(lease, "one", LONG))).isFalse();
        assertThat(done(store.renew(lease, "two", LONG))).isFalse();
        assertThat(done(store.renew(lease, "one", Duration.ofMillis(20)))).isTrue();
        LocalValkey.await("the end of a lease", () -> done(store.acquire(lease, "two", LONG)));
        assertThat(done(store.renew(lease, "one", LONG))).isFalse();
        assertThat(done(store.renew(lease, "two", LONG))).isTrue();
    }

    @ParameterizedTest
    @EnumSource
    void listing_hasNoMoreThanAskedFor_andNoMoreThanTheBound(Kind kind) {
        FleetStore store = stores.get(kind);
        List<CompletionStage<Void>> puts = new ArrayList<>();
        for (int i = 0; i < FleetStore.MOST_LISTED + 50; i++) {
            puts.add(store.put(new Key("many", "digest", "n" + i), new byte[] {(byte) i}, LONG));
            if (puts.size() == 200) {
                puts.forEach(Stores::done);
                puts.clear();
            }
        }
        puts.forEach(Stores::done);
        assertThat(done(store.list("many", "digest", 7))).hasSize(7);
        assertThat(done(store.list("many", "digest", Integer.MAX_VALUE))).hasSize(FleetStore.MOST_LISTED);
        assertThat(done(store.list("many", "diges", 7))).isEmpty();
        assertThat(done(store.list("many", "digest", -1))).isEmpty();
    }

    @ParameterizedTest
    @EnumSource
    void closedStore_saysSo(Kind kind) {
        FleetStore store = kind == Kind.MEMORY
                ? new MemoryFleetStore(System::nanoTime)
                : Stores.open(servers.getFirst().address(), PATIENT);
        assertThat(works(store.get(new Key("c", "k", "n")))).isTrue();
        assertThat(store.said()).endsWith(" answers");
        store.close();
        store.close();
        assertThat(Stores.failure(store.get(new Key("c", "k", "n"))).orElseThrow())
                .contains("closed");
    }
}
