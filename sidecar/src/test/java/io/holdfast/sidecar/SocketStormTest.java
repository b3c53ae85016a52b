package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.pin.LedgerLine;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.HttpFault;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Seeded storms over real sockets and files: the seed gives the steps, the machine gives the moments. Whatever happened, the
 * engine has no pin afterwards that the sidecar does not own up to.
 */
class SocketStormTest {
    private static final int CONTEXT = 1_030;
    private static final int ANSWER = 5;
    /** What an engine of this context really accepts. */
    private static final int LONGEST_SERVED = CONTEXT - 1 - ANSWER - 1;

    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");

    @TempDir
    Path state;

    static LongStream seeds() {
        return LongStream.range(0, DEEP ? 50 : 2);
    }

    @ParameterizedTest
    @MethodSource("seeds")
    void storm_leavesNoPinThatIsNotOwnedUpTo(long seed) throws Exception {
        EmulatorSettings settings = TestBed.fast()
                .withVariant(Variant.PIN_GPU)
                .withContextTokens(CONTEXT)
                .withReplayPort(0)
                .withSeed(seed);
        try (PinnedEngine bed = new PinnedEngine(state, settings);
                Storm storm = new Storm(seed, bed)) {
            try {
                storm.run();
                storm.calmDown();
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        "Storm of seed " + seed + ":\n  " + String.join("\n  ", storm.steps) + "\nended with "
                                + storm.lastSeen(),
                        e);
            }
        }
    }

    private static final class Storm implements AutoCloseable {
        private static final int STEPS = 40;
        private static final long PATIENCE_SECONDS = 60;

        private final SplittableRandom random;
        private final PinnedEngine bed;
        private final int[][] prefixes;
        private final List<String> steps = new ArrayList<>();
        private final List<CompletableFuture<Http.Answer>> sent = new ArrayList<>();
        private final List<String> ids = new ArrayList<>();
        private final List<Fault> begun = new ArrayList<>();
        private Sidecar sidecar;
        private SidecarClient client;
        private int fresh = 1_000;
        private boolean shut;
        private boolean paused;

        Storm(long seed, PinnedEngine bed) {
            this.bed = bed;
            random = new SplittableRandom(seed);
            prefixes = IntStream.range(0, 8)
                    .mapToObj(i -> EngineClient.prompt(i, TestBed.BLOCK * (4 + random.nextInt(28))))
                    .toArray(int[][]::new);
            sidecar = bed.sidecar("");
            client = new SidecarClient(sidecar.uri());
        }

        void run() throws IOException {
            client.meet(bed.engine);
            int reread = random.nextInt(STEPS / 2, STEPS);
            for (int i = 0; i < STEPS; i++) {
                if (i == reread) {
                    restart(true);
                } else {
                    step(random.nextInt(100));
                }
            }
        }

        private void step(int dice) throws IOException {
            int which = random.nextInt(prefixes.length);
            int[] prefix = prefixes[which];
            if (dice < 15) {
                serve("prefix " + which, prefix, 1);
            } else if (dice < 28) {
                int[] text = EngineClient.prompt(fresh++, 16 + random.nextInt(200));
                serve(
                        "prefix " + which + " and " + text.length + " tokens",
                        IntStream.concat(IntStream.of(prefix), IntStream.of(text))
                                .toArray(),
                        1 + random.nextInt(4));
            } else if (dice < 34) {
                serve("the largest prompt", EngineClient.prompt(fresh++, LONGEST_SERVED), ANSWER);
            } else if (dice < 42) {
                int length = 50 + random.nextInt(200);
                serve("an answer of " + length + " tokens", EngineClient.prompt(fresh++, 20), length);
            } else if (dice < 64) {
                hold(which, prefix);
            } else if (dice < 70) {
                release();
            } else if (dice < 73) {
                releaseAll();
            } else if (dice < 76) {
                steps.add("flush: " + bed.engine.flush());
            } else if (dice < 88) {
                fault();
            } else if (dice < 96) {
                turnGate();
            } else {
                restart(false);
            }
        }

        /** Waits for the answer, but not long: pins that are to go may be in the way while the gate is shut. */
        private void serve(String what, int[] prompt, int newTokens) {
            CompletableFuture<Http.Answer> answer = bed.engine.generateLater(prompt, newTokens);
            sent.add(answer);
            boolean waits = random.nextInt(4) > 0;
            steps.add("serve " + what + (waits ? "" : " and go on"));
            if (waits) {
                try {
                    answer.get(400, TimeUnit.MILLISECONDS);
                } catch (TimeoutException e) {
                    steps.add("… which takes long");
                } catch (ExecutionException e) {
                    throw new AssertionError("The engine does not answer.", e);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new AssertionError("interrupted", e);
                }
            }
        }

        private void hold(int which, int[] prefix) {
            if (random.nextBoolean()) {
                serve("prefix " + which + " to hold", prefix, 1);
            }
            double lease = 1 + random.nextInt(20) / 10.0;
            Http.Answer answer = client.hold(prefix, lease);
            steps.add("hold prefix " + which + " (" + prefix.length / TestBed.BLOCK + " blocks) for " + lease + " s: "
                    + answer.status()
                    + (answer.status() == 201 ? " as " + answer.json().getString("id") : " " + answer.text()));
            assertThat(answer.status()).as(answer.text()).isIn(201, 409, 503);
            if (answer.status() == 201) {
                ids.add(answer.json().getString("id"));
            }
        }

        private void release() {
            if (!ids.isEmpty()) {
                String id = ids.remove(random.nextInt(ids.size()));
                Http.Answer answer = client.http.delete(SidecarClient.HOLDS + "/" + id);
                steps.add("release " + id + ": " + answer.status());
                assertThat(answer.status()).as(answer.text()).isIn(200, 404, 503);
            }
        }

        private void releaseAll() {
            if (paused) {
                resume();
            } else {
                Http.Answer answer = client.http.delete(SidecarClient.HOLDS);
                steps.add("release all: " + answer.status());
                assertThat(answer.status()).as(answer.text()).isIn(200, 503);
                paused = random.nextBoolean();
                if (!paused) {
                    resume();
                }
            }
        }

        private void resume() {
            Http.Answer answer = client.http.post("/api/v1/engines/demo/resume", "");
            steps.add("resume: " + answer.status());
            assertThat(answer.status()).as(answer.text()).isEqualTo(200);
            paused = false;
        }

        private void fault() {
            if (!begun.isEmpty() && random.nextBoolean()) {
                end(begun.remove(random.nextInt(begun.size())));
                return;
            }
            Fault fault = switch (random.nextInt(10)) {
                case 0 -> new EventFault.EventDelay(Duration.ofMillis(100 + random.nextInt(1_500)));
                case 1 -> new EventFault.SequenceReset(2 + random.nextInt(6));
                case 2 -> new EventFault.EventLoss(10 + random.nextInt(60));
                case 3 -> new EventFault.EventDuplicates(50);
                case 4 -> new EventFault.EventReorder(30);
                case 5 -> new EventFault.ReplayShort(random.nextInt(5));
                case 6 -> new CacheFault.AutoUnpin(1 + random.nextInt(6));
                case 7 -> new CacheFault.CapacityFalls(10 + random.nextInt(20), 0);
                case 8 -> new CacheFault.HoldLost(50);
                default -> new HttpFault.PinLate(Duration.ofMillis(100 + random.nextInt(1_500)));
            };
            steps.add("begin " + fault);
            begun.removeIf(other -> other.kind().equals(fault.kind()));
            begun.add(fault);
            bed.emulator.faults().begin(fault);
        }

        private void end(Fault fault) {
            steps.add("end " + fault.kind().name());
            bed.emulator.faults().end(fault.kind());
        }

        private void turnGate() throws IOException {
            steps.add(shut ? "open the gate" : "shut the gate");
            if (shut) {
                // A connection that tried the port meanwhile may have it for a moment.
                Eventually.see("the port is free", this::opened, open -> open);
            } else {
                bed.gate.shut();
            }
            shut = !shut;
        }

        private boolean opened() {
            try {
                bed.gate.open();
                return true;
            } catch (BindException e) {
                return false;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        /** @param reread whether its ledger is read by somebody else meanwhile */
        private void restart(boolean reread) throws IOException {
            steps.add("close the sidecar");
            stopSidecar();
            if (reread) {
                steps.add("read its ledger");
                everyPinIsWrittenDown();
            }
            steps.add("start a sidecar");
            sidecar = bed.sidecar("");
            client = new SidecarClient(sidecar.uri());
            ids.clear();
        }

        /** What the engine has pinned at rest, nobody lives who could change it. */
        private List<LedgerLine.Entry> everyPinIsWrittenDown() throws IOException {
            List<LedgerLine.Entry> outstanding = bed.outstanding();
            long written = outstanding.stream()
                    .mapToLong(entry -> (long) entry.blocks() * TestBed.BLOCK)
                    .sum();
            steps.add("… which has " + outstanding);
            Eventually.see(
                    "no more tokens are pinned at rest than the ledger knows, which are " + written,
                    bed.engine::usedTokens,
                    used -> used <= written || bed.engine.metric("sglang:num_queue_reqs") > 0);
            return outstanding;
        }

        void calmDown() throws IOException {
            steps.add("calm down");
            List.copyOf(begun).forEach(this::end);
            if (shut) {
                turnGate();
            }
            if (paused) {
                resume();
            }
            Eventually.see(
                    "no hold outlives its lease, and what is pinned still is owned up to",
                    this::look,
                    look -> look.over() && (look.used() == 0 || look.owned() > 0));
            for (CompletableFuture<Http.Answer> answer : sent) {
                EngineClient.cached(
                        answer.orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join());
            }
            EngineClient.cached(bed.engine
                    .generateLater(EngineClient.prompt(fresh++, LONGEST_SERVED), ANSWER)
                    .orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS)
                    .join());
            Http.Answer live = client.http.get("/livez");
            assertThat(live.status()).as(live.text()).isEqualTo(200);
            int owned = look().owned();
            stopSidecar();
            List<LedgerLine.Entry> outstanding = everyPinIsWrittenDown();
            assertThat(outstanding.size()).as("entries of the ledger").isLessThanOrEqualTo(owned);
        }

        /** What both say, as far as it has to come to rest. */
        private record Look(long used, JsonObject pins, List<JsonObject> holds) {
            int owned() {
                return pins.getInteger("unsure") + pins.getInteger("kept");
            }

            boolean over() {
                return pins.getInteger("held") == 0
                        && pins.getInteger("leftovers") == 0
                        && pins.getInteger("refused") == 0
                        && pins.getInteger("abandoned") == 0
                        && holds.stream().map(hold -> hold.getString("state")).noneMatch(this::lives);
            }

            private boolean lives(String state) {
                return switch (state) {
                    case "requested", "held" -> true;
                    case "expiring" -> owned() == 0;
                    default -> false;
                };
            }
        }

        private Look look() {
            return new Look(bed.engine.usedTokens(), client.engine().getJsonObject("pins"), client.holds());
        }

        String lastSeen() {
            try {
                return look() + ", " + client.engine().encode() + ", "
                        + client.http.get("/readyz").text();
            } catch (RuntimeException e) {
                return e.toString();
            }
        }

        private void stopSidecar() {
            client.close();
            sidecar.close();
        }

        @Override
        public void close() {
            stopSidecar();
        }
    }
}
