package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.sglang.SglangSettings;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

/**
 * An engine that counts its pins and its sidecar, as the two containers of a pod: processes that get a kubelet's signals.
 *
 * <p>Both have one address for life. The state directory outlives the processes, as a pod's volume does.
 */
final class Pod implements AutoCloseable {
    /** Tokens of a prefix. */
    static final int TOKENS = 256;

    private static final int PAGE = 16;
    private static final int CACHE = 4_096;
    /** Largest request that the engine accepts. */
    private static final int LARGEST = 1_040;

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String LISTENS = "holdfast sidecar listens on ";
    private static final long PAUSE_NANOS = Duration.ofMillis(10).toNanos();
    /** Longer than the minute for which a pin without an answer may still arrive. */
    private static final int MOST_LOOKS = 15_000;

    final Container engine;
    final Container sidecar;
    private final Path state;
    private final URI engineAddress;

    /** A container through its restarts. */
    static final class Container implements AutoCloseable {
        /** Time from SIGTERM to SIGKILL that a pod has by default: what has not ended by then hangs. */
        private static final Duration GRACE = Duration.ofSeconds(30);

        private final List<String> before;
        private final String[] command;
        private final Function<String, URI> address;
        private Optional<Child> child = Optional.empty();
        private Optional<Http> http = Optional.empty();
        private Duration slowestEnd = Duration.ZERO;
        private int starts;

        private Container(List<String> before, List<String> command, Function<String, URI> address) {
            this.before = before;
            this.command = command.toArray(String[]::new);
            this.address = address;
        }

        /** A server that runs in this process. */
        private Container(URI serves) {
            this(List.of(), List.of(), line -> serves);
            http = Optional.of(new Http(serves));
        }

        /** Starts it, and waits for nothing. */
        void start() throws IOException {
            assertThat(child).isEmpty();
            child = Optional.of(Child.startBehind(before, Map.of(), command));
            starts++;
        }

        /** Waits until it says where it serves. */
        Http serving() throws IOException {
            if (http.isEmpty()) {
                http = Optional.of(new Http(address.apply(child.orElseThrow().line())));
            }
            return http.get();
        }

        boolean runs() {
            return child.isPresent();
        }

        /** Number of processes so far. */
        int starts() {
            return starts;
        }

        /** Longest time from a signal to the end of the process. */
        Duration slowestEnd() {
            return slowestEnd;
        }

        void signal(String name) throws IOException, InterruptedException {
            child.orElseThrow().signal(name);
        }

        /** Waits for the end of the process that was signalled; fails where it would have to be killed. */
        CommandRun ended() throws InterruptedException {
            long from = System.nanoTime();
            assertThat(child.orElseThrow().endsWithin(GRACE))
                    .as("'%s' ends within the pod's grace period", String.join(" ", command))
                    .isTrue();
            slowestEnd = max(slowestEnd, Duration.ofNanos(System.nanoTime() - from));
            CommandRun told = child.orElseThrow().end();
            close();
            return told;
        }

        private static Duration max(Duration one, Duration other) {
            return one.compareTo(other) < 0 ? other : one;
        }

        /** Returns the next line that it prints. */
        String says() throws IOException {
            return child.orElseThrow().line();
        }

        /** SIGTERM, and waits for the end. */
        CommandRun end() throws IOException, InterruptedException {
            signal("TERM");
            return ended();
        }

        /** SIGKILL, and waits until the process is gone. */
        CommandRun kill() throws IOException, InterruptedException {
            signal("KILL");
            return ended();
        }

        @Override
        public void close() {
            http.ifPresent(Http::close);
            child.ifPresent(Child::close);
            http = Optional.empty();
            child = Optional.empty();
        }
    }

    /** A pod on this machine's loopback address. */
    static Pod in(Path folder) throws IOException {
        return in(folder, "127.0.0.1", List.of());
    }

    /**
     * A pod whose engine is somewhere else.
     *
     * @param host the engine's address
     * @param before what the engine's command line begins with
     */
    static Pod in(Path folder, String host, List<String> before) throws IOException {
        int port = FreePort.any();
        List<String> emulate =
                List.of(("emulate --host %s --port %d --events %d --replay %d --variant pin-gpu --capacity-tokens %d"
                                + " --context-tokens %d --page-size %d --prefill-us-per-token 1 --first-token-ms 1"
                                + " --decode-ms 1")
                        .formatted(host, port, FreePort.any(), FreePort.any(), CACHE, LARGEST, PAGE)
                        .split(" "));
        return new Pod(
                folder, new Container(before, emulate, Pod::engineAt), URI.create("http://" + host + ":" + port));
    }

    /** A sidecar beside an engine that runs in this process. */
    static Pod beside(Path folder, Emulator engine) throws IOException {
        return new Pod(folder, new Container(engine.uri()), engine.uri());
    }

    private Pod(Path folder, Container engine, URI engineAddress) throws IOException {
        this.engine = engine;
        this.engineAddress = engineAddress;
        state = folder.resolve("state");
        Path config = Files.writeString(
                folder.resolve("holdfast.yaml"), """
                    listen: {port: %d}
                    stateDirectory: '%s'
                    engines:
                      main: {type: sglang, url: '%s', backend: pin_blocks, priming: false, maxOutputTokens: 16,
                         largestPromptTokens: %d, readingsMillis: 100, tickMillis: 20}
                    """.formatted(FreePort.any(), state, engineAddress, LARGEST - 16));
        sidecar = new Container(List.of(), List.of("sidecar", "--config", config.toString()), Pod::sidecarAt);
    }

    /** Settings of an engine like that of a pod, for this process. */
    static EmulatorSettings engineSettings() {
        return EmulatorSettings.defaults()
                .withVariant(SglangSettings.Variant.PIN_GPU)
                .withCapacityTokens(CACHE)
                .withPageTokens(PAGE)
                .withReplayPort(0)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(1);
    }

    private static URI engineAt(String line) {
        try {
            return URI.create(JSON.readTree(line).path("url").asText());
        } catch (IOException e) {
            throw new AssertionError(line, e);
        }
    }

    private static URI sidecarAt(String line) {
        assertThat(line).startsWith(LISTENS);
        return URI.create(line.substring(LISTENS.length()));
    }

    URI engineAddress() {
        return engineAddress;
    }

    /** Ends the pod as a kubelet does: first the engine, and the sidecar once that is gone. */
    CommandRun end() throws IOException, InterruptedException {
        engine.end();
        return sidecar.end();
    }

    /** Tokens that the engine cannot evict: while nothing runs, those that are pinned. */
    int pinnedTokens() throws IOException {
        Matcher line = Pattern.compile("(?m)^sglang:num_used_tokens(\\{[^}]*})? (\\S+)$")
                .matcher(engine.serving().get("/metrics").text());
        assertThat(line.find()).isTrue();
        return (int) Double.parseDouble(line.group(2));
    }

    /** Has the engine compute a prefix, which is in its cache then. */
    void generate(int prefix) throws IOException {
        Http.Answer answer = engine.serving()
                .post(
                        "/generate",
                        JSON.createObjectNode()
                                .<ObjectNode>set("input_ids", JSON.valueToTree(tokens(prefix)))
                                .set("sampling_params", JSON.createObjectNode().put("max_new_tokens", 1))
                                .toString());
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
    }

    /** Pins a prefix as somebody else than the sidecar. */
    void pinAsStranger(int prefix) throws IOException {
        generate(prefix);
        assertThat(count("pin", prefix)).isEqualTo(1);
    }

    /** Takes a pin of the prefix back and returns how many the engine had. */
    int unpinAsStranger(int prefix) throws IOException {
        return count("unpin", prefix);
    }

    private int count(String deed, int prefix) throws IOException {
        long[] blocks = SglangBlockNames.of(tokens(prefix), PAGE);
        Http.Answer answer = engine.serving()
                .post("/hicache/" + deed + "_blocks", "{\"block_hashes\":[" + blocks[blocks.length - 1] + "]}");
        assertThat(answer.status()).as(answer.text()).isEqualTo(200);
        return answer.json().path(deed + "ned_count").asInt();
    }

    /** Requests a hold of a prefix and returns the answer. */
    Http.Answer request(int prefix) throws IOException {
        return sidecar.serving()
                .post(
                        "/api/v1/engines/main/holds",
                        JSON.createObjectNode()
                                .put("leaseSeconds", 3600)
                                .set("tokens", JSON.valueToTree(tokens(prefix)))
                                .toString());
    }

    /** Has a prefix held, and returns the id of the hold. */
    String hold(int prefix) throws IOException {
        generate(prefix);
        Http.Answer answer = request(prefix);
        assertThat(answer.status()).as(answer.text()).isEqualTo(201);
        String id = answer.json().path("id").asText();
        awaitState(id, "held");
        return id;
    }

    void awaitState(String hold, String state) throws IOException {
        Http api = sidecar.serving();
        await(
                "hold " + hold + " is " + state,
                () -> api.get("/api/v1/engines/main/holds/" + hold),
                seen -> seen.json().path("state").asText().equals(state));
    }

    /** Number of holds in this state. */
    long holdsIn(String state) throws IOException {
        JsonNode holds =
                sidecar.serving().get("/api/v1/engines/main/holds").json().path("holds");
        return StreamSupport.stream(holds.spliterator(), false)
                .filter(hold -> hold.path("state").asText().equals(state))
                .count();
    }

    /** Lives of the engine's cache that the sidecar has seen. */
    long incarnation() throws IOException {
        return sidecar.serving()
                .get("/api/v1/engines/main")
                .json()
                .path("incarnation")
                .asLong();
    }

    void awaitReady() throws IOException {
        Http api = sidecar.serving();
        await("the sidecar is ready", () -> api.get("/readyz"), seen -> seen.status() == 200);
    }

    /** Waits until the sidecar knows what the engine has, and no pin of an earlier life of either is in doubt any more. */
    void awaitKnown() throws IOException {
        awaitReady();
        Http api = sidecar.serving();
        await(
                "every pin is known",
                () -> api.get("/api/v1/engines/main").json(),
                seen -> seen.path("certain").asBoolean()
                        && seen.path("pins").path("unsure").asInt(-1) == 0);
    }

    /** Returns the ledger's list, as the command that shows it prints it. */
    JsonNode ledger() {
        CommandRun shown = CommandRun.by("ledger", "show", "--json", "--state-directory", state.toString());
        try {
            return JSON.readTree(shown.out()).path("ledgers").path(0);
        } catch (IOException e) {
            throw new AssertionError(shown.toString(), e);
        }
    }

    /** Looks again and again, for longer than {@link Http#await} does. */
    static <T> T await(String what, Supplier<T> look, Predicate<T> wanted) {
        T seen = look.get();
        for (int i = 0; i < MOST_LOOKS && !wanted.test(seen); i++) {
            LockSupport.parkNanos(PAUSE_NANOS);
            seen = look.get();
        }
        if (!wanted.test(seen)) {
            throw new AssertionError("Never came: " + what + "; last seen: " + seen);
        }
        return seen;
    }

    private static int[] tokens(int prefix) {
        return IntStream.range(0, TOKENS).map(i -> 1_000 + prefix * 577 + i % 7).toArray();
    }

    @Override
    public void close() {
        sidecar.close();
        engine.close();
    }
}
