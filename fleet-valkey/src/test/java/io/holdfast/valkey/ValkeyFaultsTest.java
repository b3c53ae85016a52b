package io.holdfast.valkey;

import static io.holdfast.valkey.Stores.HASTY;
import static io.holdfast.valkey.Stores.LONG;
import static io.holdfast.valkey.Stores.PATIENT;
import static io.holdfast.valkey.Stores.done;
import static io.holdfast.valkey.Stores.failure;
import static io.holdfast.valkey.Stores.works;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.FleetStore.Key;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of calls when a real server is slow, gone, empty, cut off or another one, and that it passes. */
class ValkeyFaultsTest {
    private static final Key KEY = new Key("c", "digest", "one");
    private static final byte[] VALUE = {1, 2, 3};

    @TempDir
    Path directory;

    @Test
    void serverThatStandsStill_failsCallsWithASentence_andWorksOnAfterwards() {
        try (LocalValkey server = LocalValkey.start(directory);
                ValkeyFleetStore store = Stores.open(server.address(), HASTY)) {
            LocalValkey.await("the first connection", () -> works(store.put(KEY, VALUE, LONG)));
            server.pause();
            assertThat(failure(store.get(KEY)))
                    .contains("Valkey at 127.0.0.1:" + server.port()
                            + " did not answer within 300 ms; see whether it is up,"
                            + " and whether the network between is whole.");
            assertThat(store.said()).endsWith("whether the network between is whole");
            // A new connection gets no answer either.
            assertThat(failure(store.get(KEY)).orElseThrow()).contains("did not answer");
            server.resume();
            LocalValkey.await("answers", () -> works(store.get(KEY)));
            assertThat(done(store.get(KEY))).contains(VALUE);
            assertThat(store.said()).isEqualTo("Valkey at 127.0.0.1:" + server.port() + " answers");
        }
    }

    @Test
    void serverThatIsKilledAndComesBackEmpty_getsTheNextPut() {
        try (LocalValkey server = LocalValkey.start(directory);
                ValkeyFleetStore store = Stores.open(server.address(), PATIENT)) {
            done(store.put(KEY, VALUE, LONG));
            server.kill();
            LocalValkey.await(
                    "calls that fail at once",
                    () -> failure(store.get(KEY))
                            .filter(said -> said.contains("cannot be reached (connection refused); "))
                            .isPresent());
            server.restart();
            LocalValkey.await("answers", () -> works(store.get(KEY)));
            assertThat(done(store.get(KEY))).isEmpty();
            done(store.put(KEY, VALUE, LONG));
            assertThat(done(store.get(KEY))).contains(VALUE);
        }
    }

    @Test
    void wireThatIsCut_isLeftForANewConnection() {
        try (LocalValkey server = LocalValkey.start(directory);
                Relay wire = Relay.to(server.port());
                ValkeyFleetStore store = Stores.open("valkey://127.0.0.1:" + wire.port(), HASTY)) {
            LocalValkey.await("the first connection", () -> works(store.put(KEY, VALUE, LONG)));
            wire.cut();
            int before = wire.connections();
            assertThat(failure(store.get(KEY)).orElseThrow()).contains("did not answer within 300 ms");
            wire.mend();
            // The old connection swallows for good, so that only a new one can answer.
            LocalValkey.await("answers", () -> works(store.get(KEY)));
            assertThat(done(store.get(KEY))).contains(VALUE);
            assertThat(wire.connections()).isGreaterThan(before);
        }
    }

    @Test
    void serverThatIsNotThereYet_isFoundOnceItIs() {
        int port = LocalValkey.freePort();
        try (ValkeyFleetStore store = Stores.open("valkey://127.0.0.1:" + port, PATIENT)) {
            assertThat(store.said()).contains("has not been connected to yet");
            assertThat(failure(store.get(KEY)).orElseThrow())
                    .startsWith("Valkey at 127.0.0.1:" + port + " cannot be reached (connection refused); ");
            try (LocalValkey server = LocalValkey.start(directory, port)) {
                LocalValkey.await("answers", () -> works(store.put(KEY, VALUE, LONG)));
                assertThat(server.ask("DBSIZE")).isEqualTo("1");
            }
        }
    }

    @Test
    void callsBeyondTheBound_areRefusedAtOnce() {
        try (LocalValkey server = LocalValkey.start(directory);
                ValkeyFleetStore store = Stores.open(server.address(), PATIENT)) {
            done(store.put(KEY, VALUE, LONG));
            server.pause();
            List<CompletionStage<Optional<byte[]>>> calls = new ArrayList<>();
            for (int i = 0; i < ValkeyFleetStore.MOST_CALLS; i++) {
                calls.add(store.get(KEY));
            }
            assertThat(failure(store.get(KEY)).orElseThrow()).contains("has yet to answer 256 calls");
            server.resume();
            assertThat(calls).allSatisfy(call -> assertThat(done(call)).contains(VALUE));
            assertThat(works(store.get(KEY))).isTrue();
        }
    }

    @Test
    void login_comesFromVariables_andItsRefusalNamesThem() {
        try (LocalValkey server = LocalValkey.start(directory)) {
            server.ask("ACL", "SETUSER", "fleet", "on", ">secret-1", "~{hf:*", "+@all");
            server.ask("CONFIG", "SET", "requirepass", "other-2");
            Map<String, String> environment = Map.of("U", "fleet", "P", "secret-1", "WRONG", "secret-3");
            try (ValkeyFleetStore right = Stores.open(server.address(), "U", "P", environment);
                    ValkeyFleetStore wrong = Stores.open(server.address(), "U", "WRONG", environment);
                    ValkeyFleetStore none = Stores.open(server.address(), PATIENT)) {
                done(right.put(KEY, VALUE, LONG));
                assertThat(done(right.list("c", "digest", 5))).containsOnlyKeys("one");
                assertThat(failure(wrong.get(KEY)).orElseThrow())
                        .contains("refused a command (WRONGPASS ")
                        .contains("what is in U and WRONG")
                        .doesNotContain("secret");
                assertThat(failure(none.get(KEY)).orElseThrow())
                        .contains("(NOAUTH ")
                        .contains("of which none are named");
            }
        }
    }

    @Test
    void serverWithoutMemory_saysSo() {
        try (LocalValkey server = LocalValkey.start(directory, "--maxmemory", "1", "--maxmemory-policy", "noeviction");
                ValkeyFleetStore store = Stores.open(server.address(), PATIENT)) {
            assertThat(failure(store.put(KEY, VALUE, LONG)).orElseThrow())
                    .contains("(OOM ")
                    .contains("more memory");
            assertThat(done(store.get(KEY))).isEmpty();
        }
    }

    @Test
    void clusterServerThatIsKilledAndRestarted_isUsedAgain() {
        List<LocalValkey> nodes = FleetStoreContractTest.cluster(directory);
        try (ValkeyFleetStore store =
                Stores.open("valkey-cluster://127.0.0.1:" + nodes.getFirst().port(), PATIENT)) {
            List<Key> keys = new ArrayList<>();
            for (int i = 0; i < 12; i++) {
                keys.add(new Key("cell" + i, "digest", "one"));
                done(store.put(keys.get(i), VALUE, LONG));
            }
            // Cells are on all of them.
            assertThat(nodes).allSatisfy(node -> assertThat(node.ask("DBSIZE")).isNotEqualTo("0"));
            nodes.get(1).kill();
            LocalValkey.await("a call that fails", () -> keys.stream().anyMatch(key -> !works(store.get(key))));
            nodes.get(1).restart();
            LocalValkey.await(
                    "all cells again", () -> keys.stream().allMatch(key -> works(store.put(key, VALUE, LONG))));
        } finally {
            nodes.forEach(LocalValkey::close);
        }
    }

    @Test
    void sentinelsFailOver_isFollowed() {
        try (LocalValkey primary = LocalValkey.start(directory.resolve("primary"));
                LocalValkey replica =
                        LocalValkey.start(directory.resolve("replica"), "--replicaof", "127.0.0.1 " + primary.port());
                LocalValkey sentinel = LocalValkey.sentinel(
                        directory.resolve("sentinel"),
                        "sentinel monitor fleet 127.0.0.1 " + primary.port() + " 1",
                        "sentinel down-after-milliseconds fleet 300",
                        "sentinel failover-timeout fleet 2000");
                ValkeyFleetStore store =
                        Stores.open("valkey-sentinel://127.0.0.1:" + sentinel.port() + "/fleet", PATIENT)) {
            done(store.put(KEY, VALUE, LONG));
            LocalValkey.await("replication", () -> replica.ask("DBSIZE").equals("1"));
            LocalValkey.await(
                    "a sentinel that knows the replica",
                    () -> sentinel.ask("SENTINEL", "replicas", "fleet").contains(Integer.toString(replica.port())));
            primary.kill();
            LocalValkey.await(
                    "puts at the new primary", () -> works(store.put(new Key("c", "digest", "two"), VALUE, LONG)));
            assertThat(replica.ask("ROLE")).startsWith("[master");
            assertThat(done(store.list("c", "digest", 9))).containsOnlyKeys("one", "two");
        }
    }

    @Test
    void primaryThatBecameAReplica_isAskedForAnew() {
        try (LocalValkey first = LocalValkey.start(directory.resolve("first"));
                LocalValkey second = LocalValkey.start(directory.resolve("second"));
                LocalValkey sentinel = LocalValkey.sentinel(
                        directory.resolve("sentinel"), "sentinel monitor fleet 127.0.0.1 " + first.port() + " 1");
                ValkeyFleetStore store =
                        Stores.open("valkey-sentinel://127.0.0.1:" + sentinel.port() + "/fleet", PATIENT)) {
            done(store.put(KEY, VALUE, LONG));
            sentinel.ask("SENTINEL", "remove", "fleet");
            sentinel.ask("SENTINEL", "monitor", "fleet", "127.0.0.1", Integer.toString(second.port()), "1");
            first.ask("REPLICAOF", "127.0.0.1", Integer.toString(second.port()));
            LocalValkey.await("a put at the other", () -> works(store.put(KEY, VALUE, LONG)));
            assertThat(second.ask("DBSIZE")).isEqualTo("1");
        }
    }
}
