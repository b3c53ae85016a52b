package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.emulator.Emulator;
import io.holdfast.rules.fault.HttpFault;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What becomes of an engine and its native sidecar when a kubelet starts, restarts and ends their containers. */
class PodLifeTest {
    private static final int TERMINATED = 143;
    private static final int KILLED = 137;
    private static final int STRANGERS = 90;
    private static final boolean DEEP = "deep".equals(System.getProperty("holdfast.scale", "slice"));
    private static final int ORDERS = Integer.getInteger("holdfast.pod.orders", DEEP ? 50 : 1);
    /** Each start of a process takes seconds of a processor. */
    private static final int STEPS = ORDERS > 1 ? 8 : 4;

    private static final long FIRST_SEED = Long.getLong("holdfast.pod.seed", 1);

    @TempDir
    private Path folder = Path.of("");

    @Test
    void engineThatComesLateAndRestarts_isANewLife_andThePodEndsByItself() throws Exception {
        try (Pod pod = Pod.in(folder)) {
            pod.sidecar.start();
            Http probe = pod.sidecar.serving();
            assertThat(probe.get("/startupz").status()).isEqualTo(200);
            assertThat(probe.get("/livez").status()).isEqualTo(200);
            assertThat(probe.await("/readyz", seen -> seen.text().contains("Nothing listens at"))
                            .status())
                    .isEqualTo(503);

            pod.engine.start();
            pod.awaitReady();
            pod.pinAsStranger(STRANGERS);
            String hold = pod.hold(1);
            long life = pod.incarnation();
            assertThat(pod.pinnedTokens()).isEqualTo(2 * Pod.TOKENS);

            assertThat(pod.engine.kill().code()).isEqualTo(KILLED);
            probe.await("/readyz", seen -> seen.status() == 503);
            assertThat(probe.get("/livez").status())
                    .as("a restart would mend nothing")
                    .isEqualTo(200);

            pod.engine.start();
            // The engine at rest shows that the pins of its earlier life are gone.
            pod.awaitState(hold, "lost");
            pod.pinAsStranger(STRANGERS);
            pod.generate(1);
            pod.awaitState(hold, "held");
            assertThat(pod.incarnation()).isGreaterThan(life);
            assertThat(pod.pinnedTokens()).isEqualTo(2 * Pod.TOKENS);
            assertThat(pod.ledger().path("pins")).as("pins of this life alone").hasSize(1);

            CommandRun told = pod.end();

            assertThat(told.code()).isEqualTo(TERMINATED);
            assertThat(told.err().lines().filter(line -> line.contains("did not release")))
                    .singleElement()
                    .asString()
                    .contains(" WARN  Engine main did not release 1 hold (")
                    .contains("Nothing listens at " + pod.engineAddress() + ": is the engine running?")
                    .endsWith("); if that engine has ended, its pins ended with it, else the next start releases them"
                            + " from the ledger.");
            JsonNode ledger = pod.ledger();
            assertThat(ledger.path("inUse").asBoolean()).isFalse();
            assertThat(ledger.path("counts").path("pinned").asInt()).isEqualTo(1);
            say(
                    "a sidecar before its engine, a restart of the engine, the end of the pod: the sidecar ended after"
                            + " %.1f s",
                    seconds(pod.sidecar.slowestEnd()));
        }
    }

    /** Plays a machine that is gone by a socket that takes no connection, so that packets are swallowed. */
    @Test
    void podWhoseEngineSwallowsWhatItIsSent_endsByItself() throws Exception {
        Vertx vertx = Vertx.vertx();
        Emulator emulator = Emulator.start(vertx, Pod.engineSettings());
        try (Pod pod = Pod.beside(folder, emulator)) {
            pod.sidecar.start();
            pod.awaitReady();
            String _ = pod.hold(1);
            emulator.close();
            try (Swallowing _ = Swallowing.at(pod.engineAddress())) {
                Http probe = pod.sidecar.serving();
                probe.await("/readyz", seen -> seen.text().contains("did not take a connection within"));
                assertThat(probe.get("/livez").status()).isEqualTo(200);

                CommandRun told = pod.sidecar.end();

                assertThat(told.code()).isEqualTo(TERMINATED);
                assertThat(told.err()).contains("Engine main did not release 1 hold (");
                assertThat(pod.ledger().path("counts").path("pinned").asInt()).isEqualTo(1);
                say(
                        "an engine's address that swallows packets: the sidecar ended after %.1f s",
                        seconds(pod.sidecar.slowestEnd()));
            }
        } finally {
            emulator.close();
            vertx.close().await();
        }
    }

    /** A network of the engine's own that is cut: connections that were open stay open, and nothing comes through. */
    @Test
    void podWhoseEngineIsCutOff_endsByItself() throws Exception {
        Assumptions.assumeTrue(
                Boolean.getBoolean("holdfast.pod.network"),
                "-Dholdfast.pod.network=true makes a network namespace, which needs root and iproute2");
        try (OwnNetwork network = OwnNetwork.open();
                Pod pod = Pod.in(folder, OwnNetwork.THERE, network.before())) {
            pod.engine.start();
            pod.sidecar.start();
            pod.awaitReady();
            String _ = pod.hold(1);
            network.cut();

            CommandRun told = pod.sidecar.end();

            assertThat(told.code()).isEqualTo(TERMINATED);
            assertThat(told.err()).contains("if that engine has ended, its pins ended with it");
            assertThat(pod.ledger().path("pins")).hasSize(1);
            say(
                    "an engine that is cut off with its connections open: the sidecar ended by itself after %.1f s,"
                            + " its pin is in the ledger",
                    seconds(pod.sidecar.slowestEnd()));
        }
    }

    /** The pin acts at once. What has not answered when the grace period is over, the ledger has. */
    @Test
    void sidecarThatIsEndedAmidAPin_takesItBack_orItsNextStartDoes() throws Exception {
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, Pod.engineSettings());
                Pod pod = Pod.beside(folder, emulator)) {
            pod.sidecar.start();
            beginAPin(pod, emulator, Duration.ofHours(1));
            pod.sidecar.signal("TERM");
            assertThat(pod.sidecar.says()).isEqualTo("holdfast sidecar releases its holds and ends");
            assertThat(pod.sidecar.kill().code()).isEqualTo(KILLED);
            assertThat(pod.ledger().path("pins")).hasSize(1);

            emulator.faults().end(new HttpFault.PinLate(Duration.ofHours(1)).kind());
            pod.sidecar.start();
            Http _ = pod.sidecar.serving();
            Pod.await("the next start has taken it back", () -> pinned(pod), tokens -> tokens == 0);
            say("SIGTERM and SIGKILL amid a pin without an answer: the next start took it back from the ledger");

            beginAPin(pod, emulator, Duration.ofMillis(300));
            assertThat(pod.sidecar.end().code()).isEqualTo(TERMINATED);
            assertThat(pod.pinnedTokens()).isZero();
            say(
                    "SIGTERM amid a pin that is answered 0.3 s later: the sidecar ended after %.1f s and took it back",
                    seconds(pod.sidecar.slowestEnd()));
        } finally {
            vertx.close().await();
        }
    }

    /** Returns while the pin has acted and is not answered. */
    private static void beginAPin(Pod pod, Emulator engine, Duration answered) throws Exception {
        pod.awaitReady();
        pod.generate(1);
        engine.faults().begin(new HttpFault.PinLate(answered));
        CompletableFuture<Http.Answer> _ = CompletableFuture.supplyAsync(() -> requested(pod));
        Pod.await("the pin has acted", () -> pinned(pod), tokens -> tokens == Pod.TOKENS);
    }

    @Test
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void randomOrders_leaveNothingPinned_andNothingHangs() throws Exception {
        Duration sidecars = Duration.ZERO;
        Duration engines = Duration.ZERO;
        int starts = 0;
        int left = 0;
        for (long seed = FIRST_SEED; seed < FIRST_SEED + ORDERS; seed++) {
            PodOrder.Outcome seen = PodOrder.run(seed, STEPS, folder);
            sidecars = longer(sidecars, seen.slowestSidecar());
            engines = longer(engines, seen.slowestEngine());
            starts += seen.starts();
            left += seen.left();
        }
        say(
                "%d orders from seed %d, %d starts, %d pins left by killed sidecars: nothing was pinned at the end,"
                        + " and each process ended in time, a sidecar after at most %.1f s, an engine after %.1f s",
                ORDERS, FIRST_SEED, starts, left, seconds(sidecars), seconds(engines));
    }

    private static Http.Answer requested(Pod pod) {
        try {
            return pod.request(1);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int pinned(Pod pod) {
        try {
            return pod.pinnedTokens();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void say(String form, Object... values) {
        System.out.println("pod: " + String.format(Locale.ROOT, form, values));
    }

    private static double seconds(Duration duration) {
        return duration.toMillis() / 1e3;
    }

    private static Duration longer(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? other : one;
    }

    /** Listens and takes no connection: its queue is full, and whoever connects hears nothing. */
    private static final class Swallowing implements AutoCloseable {
        private static final int MOST = 64;

        private final ServerSocket listening;
        private final List<Socket> queued = new ArrayList<>();

        private Swallowing(ServerSocket listening) {
            this.listening = listening;
        }

        static Swallowing at(URI address) throws IOException {
            InetSocketAddress place = new InetSocketAddress(address.getHost(), address.getPort());
            Swallowing swallowing = new Swallowing(new ServerSocket(place.getPort(), 1, place.getAddress()));
            swallowing.fill(place);
            return swallowing;
        }

        private void fill(InetSocketAddress place) throws IOException {
            for (int i = 0; i < MOST; i++) {
                Socket socket = new Socket();
                queued.add(socket);
                try {
                    socket.connect(place, 500);
                } catch (SocketTimeoutException full) {
                    return;
                }
            }
            throw new AssertionError("The system takes connections that nobody accepts");
        }

        @Override
        public void close() throws IOException {
            for (Socket socket : queued) {
                socket.close();
            }
            listening.close();
        }
    }

    /** A network namespace with an address of its own, connected to this one by a pair of devices. */
    private static final class OwnNetwork implements AutoCloseable {
        static final String THERE = "10.213.77.2";
        private static final String HERE = "10.213.77.1";

        private final String name = "hf" + ProcessHandle.current().pid();

        static OwnNetwork open() throws IOException {
            OwnNetwork network = new OwnNetwork();
            network.ip("netns add NAME");
            network.ip("link add NAMEa type veth peer name NAMEb netns NAME");
            network.ip("address add " + HERE + "/30 dev NAMEa");
            network.ip("link set NAMEa up");
            network.ip("-n NAME address add " + THERE + "/30 dev NAMEb");
            network.ip("-n NAME link set NAMEb up");
            network.ip("-n NAME link set lo up");
            return network;
        }

        List<String> before() {
            return List.of("ip", "netns", "exec", name);
        }

        void cut() throws IOException {
            ip("-n NAME link set NAMEb down");
        }

        private void ip(String words) throws IOException {
            List<String> command = new ArrayList<>(List.of("ip"));
            command.addAll(List.of(words.replace("NAME", name).split(" ")));
            assertThat(new ProcessBuilder(command)
                            .inheritIO()
                            .start()
                            .onExit()
                            .join()
                            .exitValue())
                    .as("%s", command)
                    .isZero();
        }

        @Override
        public void close() throws IOException {
            // The pair of devices goes with one of its ends.
            ip("netns delete NAME");
        }
    }
}
