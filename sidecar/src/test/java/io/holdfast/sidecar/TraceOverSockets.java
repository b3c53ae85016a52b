package io.holdfast.sidecar;

import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Sidecar;
import io.holdfast.storm.TraceRequest;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Requests of a public trace over real sockets at an emulated engine, without holds and with them. */
final class TraceOverSockets {
    /*
     * Time
     * ----
     * Engine, sidecar and client live by one clock that goes so many times as fast as the machine's: the engine works and
     * stamps its events by it, the sidecar learns, plans, reads and counts leases by it, the client sends by it. What the
     * machine takes for HTTP, JSON, ZMQ and deciding is not made faster, so it weighs so many times more than beside a real
     * engine, and so does what else the machine does: at a pace of 10 a millisecond here is ten there.
     *
     * What is void
     * ------------
     * A client that is late has sent another traffic. Where more than one request in a hundred left over LATE behind its
     * moment, the run says that it is void and no share is printed. An engine that falls behind shows in how long answers
     * take against what their tokens take alone.
     */
    private static final int PAGE = 16;
    private static final int CONTEXT = 131_072;
    private static final int LONGEST_ANSWER = 4_096;
    private static final long SECOND = 1_000_000_000L;
    private static final long LATE = SECOND / 2;
    private static final double MOST_LATE = 0.01;
    private static final String CALLS = "holdfast.backend.calls";
    static final String DRY_RUN = "dry_run";
    private static final double DECODE_MILLIS = 30;
    /** Requests. */
    private static final int WARMING = 300;

    private static final int MADE_AHEAD = 64;

    /**
     * What a run came to.
     *
     * @param seen requests that the sidecar put together from events
     * @param report all of it in words
     */
    record Found(double percent, boolean isVoid, int answered, int seen, String report) {}

    /** By the clock, and by all threads together. */
    private record Took(double seconds, double processorSeconds) {}

    /** What the client saw. */
    private static final class Seen {
        private long blocks;
        private long found;
        private int answered;
        private int failed;
        private int whole;
        private final List<Double> lag = new ArrayList<>();
        private final List<Double> slowness = new ArrayList<>();

        synchronized void sent(double seconds) {
            lag.add(seconds);
        }

        /** Whether it was served. */
        synchronized boolean answered(TraceRequest request, Http.Answer answer, double seconds) {
            if (answer.status() != 200) {
                return failed();
            }
            answered++;
            blocks += request.promptTokens() / PAGE;
            int cached = EngineClient.cached(answer);
            found += cached / PAGE;
            // Of a prompt that is all there the last token is computed.
            whole += cached >= (request.promptTokens() - 1) / PAGE * PAGE ? 1 : 0;
            slowness.add(seconds / (answerTokens(request) * DECODE_MILLIS / 1e3));
            return true;
        }

        synchronized boolean failed() {
            failed++;
            return false;
        }

        synchronized boolean over(int requests) {
            return answered + failed == requests;
        }

        double percent() {
            return 100.0 * found / blocks;
        }

        boolean isVoid() {
            return lag.stream().filter(seconds -> seconds > LATE / 1e9).count() > MOST_LATE * lag.size();
        }
    }

    /** What was asked of the engine, looked at once a second. */
    private static final class Calls {
        private final PrometheusMeterRegistry registry;
        private final Map<String, Integer> sizes = new HashMap<>();
        private long before;
        private long busiest;
        private int mostHeld;
        private long mostBlocks;

        Calls(PrometheusMeterRegistry registry) {
            this.registry = registry;
        }

        void look(SidecarClient client) {
            long now = count("pin") + count("unpin") + count("renew");
            busiest = Math.max(busiest, now - before);
            before = now;
            List<JsonObject> held = client.holds().stream()
                    .filter(hold -> hold.getString("state").equals("held"))
                    .toList();
            held.forEach(hold -> sizes.merge(hold.getString("id"), hold.getInteger("heldBlocks"), Math::max));
            mostHeld = Math.max(mostHeld, held.size());
            mostBlocks = Math.max(
                    mostBlocks,
                    held.stream()
                            .mapToLong(hold -> hold.getInteger("heldBlocks"))
                            .sum());
        }

        private Stream<Timer> timers(String call) {
            return registry.find(CALLS).tag("call", call).timers().stream();
        }

        long count(String call) {
            return timers(call).mapToLong(Timer::count).sum();
        }

        private String outcomes(String call) {
            Map<String, Long> outcomes = new TreeMap<>();
            timers(call)
                    .filter(timer -> timer.count() > 0)
                    .forEach(timer -> outcomes.merge(
                            Optional.ofNullable(timer.getId().getTag("kind")).orElse(""), timer.count(), Long::sum));
            return outcomes.toString();
        }

        void tell(StringBuilder report, double seconds) {
            List<Double> blocks =
                    sizes.values().stream().map(Integer::doubleValue).toList();
            line(
                    report,
                    String.format(
                            Locale.ROOT, "  calls          pins %s, unpins %s", outcomes("pin"), outcomes("unpin")));
            line(
                    report,
                    String.format(
                            Locale.ROOT,
                            "                 %.2f a second, %d in the busiest second",
                            (count("pin") + count("unpin") + count("renew")) / seconds,
                            busiest));
            line(report, String.format(Locale.ROOT, "  a hold         %s blocks", spread(blocks, "%,.0f")));
            line(
                    report,
                    String.format(
                            Locale.ROOT, "  at once        at most %,d holds of %,d blocks", mostHeld, mostBlocks));
        }
    }

    private final List<TraceRequest> requests;
    private final int capacityTokens;
    private final double pace;

    TraceOverSockets(List<TraceRequest> requests, int capacityTokens, double pace) {
        this.requests = requests;
        this.capacityTokens = capacityTokens;
        this.pace = pace;
    }

    /** With the keys that an operator writes who wants automatic holds, and knows the sizes of requests. */
    private static SidecarConfig config(Path state, Emulator emulator, String backend) {
        return SidecarConfig.parse(
                """
                listen: {port: 0}
                stateDirectory: '%s'
                engines:
                  demo: {type: sglang, url: '%s', backend: %s, automaticHolds: true,
                     largestPromptTokens: %d, maxOutputTokens: %d, readingsMillis: 500}
                """.formatted(state, emulator.uri(), backend, CONTEXT / 2, LONGEST_ANSWER), "trace.yaml");
    }

    private EmulatorSettings engine(boolean sessions) {
        return EmulatorSettings.defaults()
                .withReplayPort(0)
                .withSpeed(new Speed(6.25, 10_000, DECODE_MILLIS * 1e3, 1))
                .withSglang(sglang -> sglang.withSizes(capacityTokens, PAGE, CONTEXT)
                        .withMaxRunning(1_024)
                        .withVariant(sessions ? Variant.STOCK : Variant.PIN_GPU)
                        .withSessions(sessions));
    }

    /** Plays them once; {@code sessions} is for the released engine, the other one pins. */
    Found run(String backend, boolean sessions) throws IOException {
        Path state = Files.createTempDirectory("holdfast-trace");
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        FastClock clock = new FastClock(pace);
        Vertx vertx = Vertx.vertx();
        try (Emulator emulator = Emulator.start(vertx, engine(sessions), clock);
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        config(state, emulator, backend),
                        registry,
                        Seams.none()
                                .withHangLimit(Duration.ofMinutes(5))
                                .withClock(clock::nanos)
                                .withPace(pace));
                EngineClient engine = new EngineClient(emulator.uri());
                SidecarClient client = new SidecarClient(sidecar.uri())) {
            client.meet(engine);
            return played(backend, clock, emulator, client, registry);
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private Found played(
            String backend,
            FastClock clock,
            Emulator emulator,
            SidecarClient client,
            PrometheusMeterRegistry registry) {
        Calls calls = new Calls(registry);
        Seen seen = new Seen();
        int before = visible(client);
        long begin = clock.nanos() + SECOND;
        Thread sending = Thread.ofPlatform().name("client").start(() -> send(clock, begin, emulator, seen));
        double processor = processorSeconds();
        for (long second = 1; !seen.over(requests.size()); second++) {
            clock.awaitFully(begin + second * SECOND);
            calls.look(client);
        }
        Took took = new Took((clock.nanos() - begin) / 1e9, processorSeconds() - processor);
        join(sending);
        return told(backend, seen, calls, client.engine(), visible(client) - before, took);
    }

    private static double processorSeconds() {
        return ProcessHandle.current()
                        .info()
                        .totalCpuDuration()
                        .orElse(Duration.ZERO)
                        .toMillis()
                / 1e3;
    }

    private static int visible(SidecarClient client) {
        return client.engine().getJsonObject("events").getInteger("visibleRequests");
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Many are due at the same moment, so what they send is made before. */
    private void send(FastClock clock, long begin, Emulator emulator, Seen seen) {
        BlockingQueue<String> bodies = new ArrayBlockingQueue<>(MADE_AHEAD);
        Thread making = Thread.ofPlatform().name("client-bodies").daemon().start(() -> make(bodies));
        try (Http http = new Http(emulator.uri())) {
            List<CompletableFuture<?>> answers = new ArrayList<>();
            for (TraceRequest request : requests) {
                String body = bodies.take();
                long due = begin + request.millis() * 1_000_000;
                clock.awaitFully(due);
                long sent = clock.nanos();
                seen.sent((sent - due) / 1e9);
                answers.add(http.postLater("/generate", body)
                        .handle((answer, failure) -> failure == null
                                ? seen.answered(request, answer, (clock.nanos() - sent) / 1e9)
                                : seen.failed()));
            }
            CompletableFuture.allOf(answers.toArray(CompletableFuture<?>[]::new))
                    .join();
        } catch (InterruptedException e) {
            making.interrupt();
            Thread.currentThread().interrupt();
        }
    }

    private void make(BlockingQueue<String> bodies) {
        try {
            for (TraceRequest request : requests) {
                bodies.put(body(request));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int answerTokens(TraceRequest request) {
        return Math.max(1, request.answerTokens());
    }

    private static String body(TraceRequest request) {
        StringBuilder body = new StringBuilder(8 * request.promptTokens() + 100).append("{\"input_ids\":[");
        int[] prompt = request.prompt();
        for (int i = 0; i < prompt.length; i++) {
            body.append(i == 0 ? "" : ",").append(prompt[i]);
        }
        return body.append("],\"sampling_params\":{\"ignore_eos\":true,\"max_new_tokens\":")
                .append(answerTokens(request))
                .append("}}")
                .toString();
    }

    private Found told(String backend, Seen seen, Calls calls, JsonObject engine, int visible, Took took) {
        StringBuilder report = new StringBuilder();
        line(report, String.format(Locale.ROOT, "%s", backend));
        if (seen.isVoid()) {
            line(
                    report,
                    String.format(
                            Locale.ROOT,
                            "  void           more than one request in a hundred left over half a second late: take a"
                                    + " slower clock"));
        } else {
            line(
                    report,
                    String.format(Locale.ROOT, "  found          %.2f %% of %,d blocks", seen.percent(), seen.blocks));
        }
        line(
                report,
                String.format(Locale.ROOT, "  answered       %,d of %,d requests", seen.answered, requests.size()));
        line(
                report,
                String.format(
                        Locale.ROOT,
                        "  seen           %,d by events, of which %,d batches are missing; %,d found all of their"
                                + " prompt",
                        visible,
                        engine.getJsonObject("events").getInteger("lostBatches"),
                        seen.whole));
        line(report, String.format(Locale.ROOT, "  late           %s s", spread(seen.lag, "%.2f")));
        line(
                report,
                String.format(
                        Locale.ROOT,
                        "  answers        %s times what their tokens take alone",
                        spread(seen.slowness, "%.1f")));
        line(
                report,
                String.format(
                        Locale.ROOT,
                        "  machine        %.0f s, %.0f s of processor time",
                        took.seconds / pace,
                        took.processorSeconds));
        if (!backend.equals(DRY_RUN)) {
            calls.tell(report, took.seconds);
        }
        line(
                report,
                String.format(
                        Locale.ROOT,
                        "  by rank        %s",
                        engine.getJsonObject("byRank").getString("why")));
        return new Found(seen.percent(), seen.isVoid(), seen.answered, visible, report.toString());
    }

    private static void line(StringBuilder report, String text) {
        report.append(text).append('\n');
    }

    private static String spread(List<Double> values, String format) {
        return String.format(
                Locale.ROOT,
                (format + ", " + format + ", " + format + " (median, 99 of 100, most)"),
                quantile(values, 0.5),
                quantile(values, 0.99),
                quantile(values, 1));
    }

    private static double quantile(List<Double> values, double share) {
        List<Double> sorted = values.stream().sorted().toList();
        return sorted.isEmpty() ? 0 : sorted.get((int) Math.min(sorted.size() - 1, share * sorted.size()));
    }

    /** Prints what was found with and without holds: trace, minutes, capacity in tokens, backend, pace. */
    public static void main(String... args) throws IOException {
        List<TraceRequest> requests = TraceRequest.read(Path.of(args[0]), Double.parseDouble(args[1]));
        String backend = args[3];
        TraceOverSockets trace = new TraceOverSockets(requests, Integer.parseInt(args[2]), Double.parseDouble(args[4]));
        boolean sessions = backend.equals("session_hold");
        // The first run must not be the one in which this process is still slow.
        Found _ = new TraceOverSockets(
                        requests.subList(0, Math.min(WARMING, requests.size())), trace.capacityTokens, trace.pace)
                .run(backend, sessions);
        System.out.printf(
                Locale.ROOT,
                "%n%,d requests, %,d tokens of cache, a clock %.0f times as fast%n%n",
                requests.size(),
                trace.capacityTokens,
                trace.pace);
        Found without = trace.run(DRY_RUN, sessions);
        System.out.println(without.report());
        Found with = trace.run(backend, sessions);
        System.out.println(with.report());
        boolean isVoid = without.isVoid() || with.isVoid();
        double gain = with.percent() - without.percent();
        System.out.println(
                isVoid ? "gain             void" : String.format(Locale.ROOT, "gain             %+.2f points", gain));
    }
}
