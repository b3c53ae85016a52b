package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ServerLog;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A server that the load test starts by a command of the user's, and ends with everything that the command started. */
public final class StartedServer implements ServerUnit {
    /*
     * Ending it
     * ---------
     * An inference server is a family of processes: a scheduler, one worker a GPU, a tokenizer. What outlives its
     * parent keeps the GPU's memory, and the next life finds none. So the command gets a process group of its own,
     * where the system has setsid, and the group as a whole is asked to end, then ended, and is waited for until none
     * of it is left and nobody listens at the port. Without setsid it is the processes that the command is known to
     * have started. That also happens when this process is told to end in the middle.
     *
     * Restarts
     * --------
     * A life that nothing was measured in is as good as a new one, and starting takes a minute and more: so a restart
     * of a server that was not asked for a load since it was started does nothing, unless it was started for the other
     * arm.
     */
    private static final Pattern PLACE = Pattern.compile("(?<!\\$)\\{([a-z][a-z0-9-]*)}");
    private static final Duration END_LIMIT = Duration.ofSeconds(30);
    private static final Duration HURRIED_END_LIMIT = Duration.ofSeconds(3);
    private static final Duration ORDERLY_LIMIT = Duration.ofSeconds(10);
    private static final Duration KILL_LIMIT = Duration.ofSeconds(10);
    private static final Duration ANSWER_LIMIT = Duration.ofSeconds(10);
    private static final int CONNECT_MILLIS = 1_000;
    private static final long PAUSE_NANOS = 50_000_000;
    private static final long WORD_NANOS = 10_000_000_000L;
    private static final int UNHEALTHY = 500;
    private static final int MOST_SAID = 300;
    private static final int TAIL_BYTES = 4096;

    /**
     * A server's command and surroundings.
     *
     * @param uri where it will serve
     * @param command for the shell; {@code {name}} in it stands for a value
     * @param pinned the command for pinned legs, where the arms differ in it; then each leg has a process of its own
     * @param values by their names, beside {@code host} and {@code port}, which are those of the address
     * @param environment variables that it gets beside those of this process
     * @param unset variables of this process that it does not get
     * @param log takes what it writes, of all its lives
     * @param restart after what the process is ended and another begun
     * @param startLimit the most that it may take until it answers
     */
    public record Plan(
            URI uri,
            String command,
            Optional<String> pinned,
            Map<String, String> values,
            Map<String, String> environment,
            Set<String> unset,
            Path log,
            Restart restart,
            Duration startLimit) {
        public Plan {
            values = Map.copyOf(values);
            environment = Map.copyOf(environment);
            unset = Set.copyOf(unset);
        }
    }

    /** Span of a run that one process serves. */
    public enum Restart {
        LEG,
        LIFE,
        RUN
    }

    /**
     * In what one kind of a server that is started differs from another, beside what the plan says of all.
     *
     * @param values by their names in the command; before those of the plan
     * @param environment variables that it gets
     * @param unset variables of this process and of the plan that it does not get
     */
    public record Variant(Map<String, String> values, Map<String, String> environment, Set<String> unset) {
        public Variant {
            values = Map.copyOf(values);
            environment = Map.copyOf(environment);
            unset = Set.copyOf(unset);
        }

        /** Returns the variant that changes nothing of the plan. */
        public static Variant none() {
            return new Variant(Map.of(), Map.of(), Set.of());
        }
    }

    private final Plan plan;
    private final String command;
    private final Optional<String> pinned;
    private final LogWatch log;
    private final RunClock clock;
    private final Consumer<String> waiting;
    private final Thread atExit = new Thread(this::endAtExit, "holdfast-server-end");
    /** Also read when this process is told to end. */
    private final AtomicReference<Optional<Process>> process = new AtomicReference<>(Optional.empty());

    private boolean used;
    private Arm startedFor = Arm.BASELINE;
    private Variant variant = Variant.none();
    private Variant startedAs = Variant.none();
    private Duration startTook = Duration.ZERO;

    /**
     * Starts nothing yet. A name in braces without a value is refused here where another command is for pinned legs,
     * since a run would come to that only later; else when the command is to be started, as variants bring values of
     * their own.
     *
     * @param waiting receives a sentence about what is being waited for when a life is long in beginning
     */
    public StartedServer(Plan plan, RunClock clock, Consumer<String> waiting) {
        this.plan = plan;
        this.command = plan.command();
        this.pinned = plan.pinned();
        this.log = new LogWatch(plan.log());
        this.clock = clock;
        this.waiting = waiting;
        pinned.ifPresent(other -> List.of(command, other).forEach(each -> filled(plan, Variant.none(), each)));
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    private static String filled(Plan plan, Variant variant, String command) {
        Map<String, String> values = new HashMap<>(plan.values());
        values.putAll(variant.values());
        values.put("host", plan.uri().getHost());
        values.put("port", Integer.toString(port(plan.uri())));
        return PLACE.matcher(command)
                .replaceAll(place -> Matcher.quoteReplacement(Optional.ofNullable(values.get(place.group(1)))
                        .orElseThrow(() -> new LoadTestException("The server's command has " + place.group()
                                + ", for which there is no value; write --server-set " + place.group(1) + "=VALUE."))));
    }

    /** Sets the variant from the next restart on; a process of another variant ends then. */
    public void become(Variant value) {
        variant = value;
    }

    @Override
    public URI uri() {
        return plan.uri();
    }

    @Override
    public String name() {
        return "server at " + uri() + ", started by: " + filled(plan, startedAs, command)
                + pinned.map(other -> "; for pinned legs by: " + filled(plan, startedAs, other))
                        .orElse("");
    }

    @Override
    public boolean givesFreshLives() {
        return plan.restart() != Restart.RUN;
    }

    @Override
    public Duration lifeTakes() {
        return plan.restart() != Restart.RUN ? startTook : Duration.ZERO;
    }

    @Override
    public void used() {
        used = true;
    }

    @Override
    public Optional<String> ended() {
        return process.get()
                .filter(started -> !started.isAlive())
                .map(gone -> "The server's command ended on its own with exit code " + gone.exitValue() + said()
                        + "; the command has to stay for as long as the server serves, and " + plan.log()
                        + " has what it wrote.");
    }

    @Override
    public Optional<ServerLog> written() {
        return Optional.of(log.since());
    }

    @Override
    public boolean givesFreshLegs() {
        return pinned.isPresent() || plan.restart() == Restart.LEG;
    }

    @Override
    public void restart() {
        restart(Arm.BASELINE);
    }

    @Override
    public void restart(Arm arm) {
        boolean runs = process.get().filter(Process::isAlive).isPresent();
        boolean isForIt = (arm == startedFor || pinned.isEmpty()) && variant.equals(startedAs);
        if (runs && isForIt && !(used && plan.restart() != Restart.RUN)) {
            return;
        }
        end(END_LIMIT);
        startedFor = arm;
        startedAs = variant;
        start(filled(plan, variant, arm == Arm.PINNED ? pinned.orElse(command) : command));
        used = false;
    }

    private void start(String by) {
        if (isListening()) {
            throw new LoadTestException("Something listens at " + uri()
                    + " already, so no server can be started there: end it, or name another port.");
        }
        long began = clock.nanos();
        List<String> line = new ArrayList<>();
        ProcessFamily.setsid().ifPresent(path -> line.add(path.toString()));
        line.addAll(List.of("/bin/sh", "-c", by));
        ProcessBuilder builder = new ProcessBuilder(line)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(plan.log().toFile()));
        builder.environment().putAll(plan.environment());
        builder.environment().keySet().removeAll(plan.unset());
        builder.environment().putAll(variant.environment());
        builder.environment().keySet().removeAll(variant.unset());
        try {
            Process started = builder.start();
            process.set(Optional.of(started));
            started.getOutputStream().close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        awaitAnswer(began);
        startTook = Duration.ofNanos(clock.nanos() - began);
    }

    /** Until it answers in a way that is no failure; whether it can do its work is for a real request to show. */
    private void awaitAnswer(long began) {
        long until = began + plan.startLimit().toNanos();
        long nextWord = began + WORD_NANOS;
        try (ControlHttp http = new ControlHttp(uri(), Map.of(), ANSWER_LIMIT)) {
            while (!answers(http)) {
                ended().ifPresent(why -> {
                    throw new LoadTestException(why);
                });
                if (Thread.currentThread().isInterrupted()) {
                    throw new LoadTestException("The load test was stopped while its server was starting.");
                }
                if (clock.nanos() >= until) {
                    throw new LoadTestException("The server did not answer at " + uri() + " within "
                            + plan.startLimit().toSeconds() + " s" + said() + "; see " + plan.log()
                            + ", and check that it serves at that address.");
                }
                if (clock.nanos() >= nextWord) {
                    waiting.accept("Waiting for the server to start" + said() + ".");
                    nextWord = clock.nanos() + WORD_NANOS;
                }
                clock.sleep(PAUSE_NANOS);
            }
        }
    }

    private static boolean answers(ControlHttp http) {
        try {
            return http.get("/health").status() < UNHEALTHY;
        } catch (IOException e) {
            return false;
        }
    }

    /** Ends the server after the run, which is told to end as well and first releases what it holds there. */
    private void endAtExit() {
        boolean _ = within(ORDERLY_LIMIT, () -> process.get().isEmpty());
        end(HURRIED_END_LIMIT);
    }

    /** Ends it with all of its processes, and waits until its port is free. */
    private void end(Duration patience) {
        Optional<Process> started = process.getAndSet(Optional.empty());
        if (started.isEmpty()) {
            return;
        }
        ProcessFamily family = new ProcessFamily(started.get());
        family.tell("TERM");
        if (!within(patience, () -> !family.isAlive())) {
            family.tell("KILL");
            if (!within(KILL_LIMIT, () -> !family.isAlive())) {
                throw new LoadTestException("The server's processes do not end, though they were killed; process group "
                        + started.get().pid() + ".");
            }
        }
        if (!within(KILL_LIMIT, () -> !isListening())) {
            throw new LoadTestException("Something still listens at " + uri()
                    + " after the server's processes have ended; its command has started it apart: end it.");
        }
    }

    private boolean within(Duration limit, Condition condition) {
        long until = clock.nanos() + limit.toNanos();
        while (!condition.holds()) {
            if (clock.nanos() >= until) {
                return false;
            }
            clock.sleep(PAUSE_NANOS);
        }
        return true;
    }

    @FunctionalInterface
    private interface Condition {
        boolean holds();
    }

    private boolean isListening() {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(uri().getHost(), port(uri())), CONNECT_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static int port(URI uri) {
        if (uri.getPort() > 0) {
            return uri.getPort();
        }
        return "https".equals(uri.getScheme()) ? 443 : 80;
    }

    /** The last line that it wrote, in brackets. */
    private String said() {
        try (RandomAccessFile file = new RandomAccessFile(plan.log().toFile(), "r")) {
            byte[] tail = new byte[(int) Math.min(file.length(), TAIL_BYTES)];
            file.seek(file.length() - tail.length);
            file.readFully(tail);
            String text = new String(tail, StandardCharsets.UTF_8).strip();
            String line = text.substring(text.lastIndexOf('\n') + 1).strip();
            return line.isEmpty() ? "" : " (" + line.substring(0, Math.min(line.length(), MOST_SAID)) + ")";
        } catch (IOException e) {
            return "";
        }
    }

    @Override
    public void close() {
        try {
            end(END_LIMIT);
        } finally {
            try {
                boolean _ = Runtime.getRuntime().removeShutdownHook(atExit);
            } catch (IllegalStateException e) {
                // This process ends already, and the hook does the same.
            }
        }
    }
}
