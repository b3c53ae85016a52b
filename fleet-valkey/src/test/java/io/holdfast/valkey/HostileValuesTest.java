package io.holdfast.valkey;

import static io.holdfast.valkey.Stores.LONG;
import static io.holdfast.valkey.Stores.PATIENT;
import static io.holdfast.valkey.Stores.done;
import static io.holdfast.valkey.Stores.failure;
import static io.holdfast.valkey.Stores.works;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.FleetStore;
import io.holdfast.embed.cell.FleetStore.Key;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What somebody else puts under our keys costs a call at most. */
class HostileValuesTest {
    private static final int VALUES =
            System.getProperty("holdfast.scale", "slice").equals("deep") ? 100_000 : 2_000;
    private static final Key KEY = new Key("c", "digest", "one");
    private static final byte[] VALUE = {1, 2, 3};

    private LocalValkey server;
    private ValkeyFleetStore store;
    private boolean started;

    @BeforeEach
    void start(@TempDir Path directory) {
        server = LocalValkey.start(directory);
        store = Stores.open(server.address(), PATIENT);
        started = true;
    }

    @AfterEach
    void stop() {
        // A machine without a server skips these tests.
        if (started) {
            store.close();
            server.close();
        }
    }

    @Test
    void hugeValue_isLeftOut_andCounted() {
        server.ask("SETRANGE", "{hf:c}:digest:huge", Integer.toString((256 << 20) - 1), "x");
        done(store.put(KEY, VALUE, LONG));
        assertThat(done(store.get(new Key("c", "digest", "huge")))).isEmpty();
        assertThat(failure(store.list("c", "digest", 10)).orElseThrow())
                .as("values of a listing come whole, until one is too much")
                .contains("sent more than 4 MiB in one answer");
        LocalValkey.await("a new connection", () -> works(store.get(KEY)));
        for (int i = 0; i < 2; i++) {
            assertThat(done(store.list("c", Map.of("digest", 10, "engine", 10))).get("digest"))
                    .containsOnlyKeys("one");
        }
        assertThat(store.dropped()).isEqualTo(3);
        assertThat(store.said()).endsWith(" answers; 3 values in it were none of ours and were left out");
    }

    @Test
    void keyOfAnotherKind_failsTheCallsAboutIt_andNoOther() {
        server.ask("RPUSH", "{hf:c}:digest:list", "a", "b");
        Key key = new Key("c", "digest", "list");
        assertThat(failure(store.get(key)))
                .contains("Valkey at 127.0.0.1:" + server.port() + " refused a command (WRONGTYPE Operation against a"
                        + " key holding the wrong kind of value); somebody else"
                        + " uses that key, so give Holdfast a database of its"
                        + " own.");
        assertThat(failure(store.top(key, 3))).isPresent();
        assertThat(failure(store.add(key, Map.of(1L, 1.0), LONG))).isPresent();
        assertThat(failure(store.renew(key, "me", LONG))).isPresent();
        assertThat(done(store.acquire(key, "me", LONG))).isFalse();
        String clients = server.ask("CLIENT", "LIST");
        done(store.put(KEY, VALUE, LONG));
        assertThat(done(store.list("c", "digest", 10))).containsOnlyKeys("one");
        assertThat(clients.lines().filter(line -> line.contains("name=holdfast")))
                .as("the connection of the beginning")
                .hasSize(1)
                .allMatch(line -> line.contains("id=" + first()));
        done(store.put(key, VALUE, LONG));
        assertThat(done(store.get(key))).contains(VALUE);
    }

    private String first() {
        return server.ask("CLIENT", "LIST")
                .lines()
                .filter(line -> line.contains("name=holdfast"))
                .map(line -> line.replaceAll("id=(\\d+) .*", "$1"))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void memberOfAWindowThatIsHuge_endsItsConnection_andNoMore() {
        String huge = "x".repeat(32 << 20);
        server.ask("ZADD", "{hf:c}:heat:w", "5", huge);
        Key window = new Key("c", "heat", "w");
        done(store.put(KEY, VALUE, LONG));
        assertThat(failure(store.top(window, 3)).orElseThrow()).contains("sent more than 4 MiB in one answer");
        LocalValkey.await("a new connection", () -> works(store.get(KEY)));
        assertThat(done(store.get(KEY))).contains(VALUE);
    }

    @Test
    void membersThatAreNoneOfOurs_areLeftOut() {
        Key window = new Key("c", "heat", "w");
        done(store.add(window, Map.of(1L, 2.0, -1L, 4.0, Long.MIN_VALUE, 3.0), LONG));
        server.ask("ZADD", "{hf:c}:heat:w", "9", "me", "inf", "7ffffffffffffff0", "8", "7FFFFFFFFFFFFFF0", "7", "");
        assertThat(done(store.top(window, 10)))
                .containsExactly(Map.entry(-1L, 4.0), Map.entry(Long.MIN_VALUE, 3.0), Map.entry(1L, 2.0));
        assertThat(store.dropped()).isEqualTo(4);
    }

    @Test
    void databaseWithTooManyKeysOfOthers_isNotSearchedWithoutEnd() {
        List<String[]> commands = new ArrayList<>();
        for (int i = 0; i < 70_000; i++) {
            commands.add(new String[] {"SET", "other:" + i, ""});
        }
        server.askAll(commands);
        assertThat(failure(store.list("c", "digest", 10)).orElseThrow())
                .contains("has more than 64000 keys")
                .endsWith("give Holdfast a database of its own.");
        done(store.put(KEY, VALUE, LONG));
        assertThat(done(store.get(KEY))).contains(VALUE);
    }

    @Test
    void anything_isReadWithinBounds() {
        SplittableRandom random = new SplittableRandom(41);
        List<String[]> commands = new ArrayList<>();
        for (int i = 0; i < VALUES; i++) {
            commands.add(hostile(random));
            if (commands.size() == 500) {
                server.askAll(commands);
                commands.clear();
                read(random);
            }
        }
        done(store.put(KEY, VALUE, LONG));
        assertThat(done(store.get(KEY))).contains(VALUE);
        assertThat(store.dropped()).isPositive();
    }

    /** Reads all there is to be read; whatever comes, it is within bounds or a sentence. */
    private void read(SplittableRandom random) {
        // The first listing that finds a megabyte in each value ends its connection.
        LocalValkey.await("a listing", () -> works(store.list("c", "digest", 5_000)));
        for (String kind : List.of("digest", "heat")) {
            assertThat(done(store.list("c", kind, 5_000)))
                    .hasSizeLessThanOrEqualTo(FleetStore.MOST_LISTED)
                    .allSatisfy((name, value) -> assertThat(value).hasSizeBetween(1, FleetStore.MOST_BYTES));
            for (int i = 0; i < 40; i++) {
                Key key = new Key("c", kind, "n" + random.nextInt(300));
                if (failure(store.top(key, 5_000)).isEmpty()) {
                    assertThat(done(store.top(key, 5_000)).values())
                            .hasSizeLessThanOrEqualTo(FleetStore.MOST_SUMS)
                            .allMatch(Double::isFinite);
                }
                failure(store.get(key));
                failure(store.add(key, Map.of(random.nextLong(), 1.0), LONG));
                failure(store.renew(key, "me", LONG));
                failure(store.acquire(key, "me", LONG));
            }
        }
    }

    private static String[] hostile(SplittableRandom random) {
        String kind = random.nextBoolean() ? "digest" : "heat";
        String name = random.nextInt(6) == 0 ? text(random, 1 + random.nextInt(400)) : "n" + random.nextInt(300);
        String key = "{hf:c}:" + kind + ":" + name;
        return switch (random.nextInt(9)) {
            case 0 -> new String[] {"DEL", key};
            case 1 -> new String[] {"RPUSH", key, text(random, 20)};
            case 2 -> new String[] {"HSET", key, text(random, 20), text(random, 20)};
            case 3 -> new String[] {"SADD", key, text(random, 20)};
            case 4 -> new String[] {"ZADD", key, random.nextBoolean() ? "inf" : "1e308", text(random, 200)};
            case 5 -> new String[] {"SETRANGE", key, Integer.toString(random.nextInt(1 << 20)), text(random, 20)};
            case 6 -> new String[] {"XADD", key, "*", "f", text(random, 20)};
            case 7 -> new String[] {"SET", key, ""};
            default -> new String[] {"SET", key, text(random, random.nextInt(20_000))};
        };
    }

    private static String text(SplittableRandom random, int length) {
        StringBuilder text = new StringBuilder(length);
        for (int i = 0; i < length; i++) {
            text.append((char) random.nextInt(256));
        }
        return text.toString();
    }
}
