package io.holdfast.emulator;

import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.rules.engine.EngineClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.fault.ServerFault;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import java.net.URI;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An emulated inference server: SGLang or vLLM on real sockets, with a thread in place of the GPU.
 *
 * <p>It runs one server instance after another on the same ports: a script, a fault or {@link #restart} kills the
 * present one, and the next starts with an empty cache. Closing cuts requests off as well, but leaves no memory segment
 * behind.
 */
public final class Emulator implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(Emulator.class);
    private static final Duration POLL = Duration.ofMillis(5);

    private final Vertx vertx;
    private final EmulatorSettings settings;
    private final Faults faults;
    private final EngineClock clock;
    private final ScheduledExecutorService scheduler;
    private int starts;
    private Optional<ServerInstance<?>> instance = Optional.empty();
    private boolean closed;

    private final URI uri;
    private final String events;
    private final Optional<String> replay;

    private Emulator(Vertx vertx, EmulatorSettings wanted, EngineClock clock) {
        this.vertx = vertx;
        this.faults = new Faults(wanted.faults());
        this.clock = clock;
        EmulatorSettings reachable =
                faults.has(ServerFault.SlowStart.class) && wanted.endpoints().http() == 0
                        ? wanted.withHttpPort(ServerInstance.freePort())
                        : wanted;
        ServerInstance<?> first = startInstance(reachable);
        int http = reachable.endpoints().http() == 0
                ? first.port()
                : reachable.endpoints().http();
        this.uri = URI.create("http://" + reachable.endpoints().host() + ":" + http);
        this.events = first.events().endpoint();
        this.replay = first.events().replayEndpoint();
        this.settings = reachable.withEndpoints(new Endpoints(
                reachable.endpoints().host(),
                http,
                first.events().port(),
                replay.map(where -> OptionalInt.of(port(where))).orElse(OptionalInt.empty()),
                reachable.endpoints().repeats()));
        this.scheduler = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().daemon().name("holdfast-scheduler-" + http).factory());
        this.instance = Optional.of(first);
    }

    /**
     * Starts a server and blocks until it serves; not to be called on an event loop.
     *
     * @throws EmulatorException with one sentence when it cannot, as when a port is in use
     */
    public static Emulator start(Vertx vertx, EmulatorSettings settings) {
        return start(vertx, settings, new MachineClock());
    }

    /**
     * Starts a server on another clock: a caller that also runs the server's clients on it can have an hour pass in
     * minutes.
     *
     * <p>The engine works and stamps by it. What a script and the faults of a server delay is delayed by the machine's.
     */
    public static Emulator start(Vertx vertx, EmulatorSettings settings, EngineClock clock) {
        refuseEventLoop();
        Emulator emulator = new Emulator(vertx, settings, clock);
        emulator.scheduleActions();
        return emulator;
    }

    public URI uri() {
        return uri;
    }

    /** Address at which the first rank's events are published; each further rank has the next port. */
    public String eventsEndpoint() {
        return events;
    }

    /** Address at which the first rank's past batches can be requested. */
    public Optional<String> replayEndpoint() {
        return replay;
    }

    /** The faults in force; they may begin and end while it serves. */
    public Faults faults() {
        return faults;
    }

    /**
     * Number of batches of events that this server instance has published, all ranks together; 0 while it is down.
     *
     * <p>What came of the requests that were answered before this call is among them, also what is on its way still:
     * whoever has handled as many has missed nothing. Blocks for a step of the engine; not to be called on an event
     * loop.
     */
    public long publishedBatches() {
        refuseEventLoop();
        return present().map(ServerInstance::publishedBatches).orElse(0L);
    }

    private synchronized Optional<ServerInstance<?>> present() {
        return instance;
    }

    /**
     * Kills this server instance and starts the next; blocks until it serves again, not to be called on an event loop.
     */
    public void restart() {
        refuseEventLoop();
        restart(Duration.ZERO);
    }

    /** Blocks until all ports are free; not to be called on an event loop. */
    @Override
    public void close() {
        refuseEventLoop();
        scheduler.shutdownNow();
        synchronized (this) {
            closed = true;
            instance.ifPresent(ServerInstance::end);
            instance = Optional.empty();
        }
    }

    private void scheduleActions() {
        double scale = settings.speed().scale();
        for (Script.Act act : settings.script().acts()) {
            long nanos = Math.round(act.at().toNanos() / scale);
            Future<?> scheduled = scheduler.schedule(logged(() -> perform(act.deed())), nanos, TimeUnit.NANOSECONDS);
            log.debug("{} is scheduled: {}", act, scheduled);
        }
        Future<?> looking = scheduler.scheduleWithFixedDelay(
                logged(this::restartIfDue), POLL.toNanos(), POLL.toNanos(), TimeUnit.NANOSECONDS);
        log.debug("Looking whether a restart is due: {}", looking);
    }

    /** Logs what the work throws; a future that nobody looks at would keep it. */
    private static Runnable logged(Runnable work) {
        return () -> {
            try {
                work.run();
            } catch (RuntimeException e) {
                log.error("A scripted action failed.", e);
            }
        };
    }

    private void perform(Script.Deed deed) {
        log.info("The script says: {}", deed);
        switch (deed) {
            case Script.Deed.Begin begin -> faults.begin(begin.fault());
            case Script.Deed.End end -> faults.end(end.kind());
            case Script.Deed.Restart _ -> restart(Duration.ZERO);
        }
    }

    /** A fault restarts the server after so many requests. */
    private void restartIfDue() {
        Optional<ServerFault.Restart> fault = faults.find(ServerFault.Restart.class);
        if (fault.isPresent() && answered() >= fault.get().requests()) {
            restart(fault.get().down());
        }
    }

    private synchronized long answered() {
        return instance.map(ServerInstance::answered).orElse(0L);
    }

    private synchronized void restart(Duration down) {
        if (closed) {
            return;
        }
        instance.ifPresent(ServerInstance::close);
        instance = Optional.empty();
        try {
            TimeUnit.NANOSECONDS.sleep(down.toNanos());
            instance = Optional.of(startInstance(settings));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (EmulatorException e) {
            log.error("The server did not come back after its restart: {}", e.getMessage());
        }
    }

    /** Starts the next instance; where a fault makes that slow, the HTTP port opens later. */
    private ServerInstance<?> startInstance(EmulatorSettings where) {
        starts++;
        String model = starts == 1
                ? where.model()
                : faults.find(ServerFault.OtherModel.class)
                        .map(ServerFault.OtherModel::name)
                        .orElse(where.model());
        ServerInstance<?> next = ServerFactory.start(vertx, where.withModel(model), faults, clock);
        Optional<ServerFault.SlowStart> slow = faults.find(ServerFault.SlowStart.class);
        if (slow.isEmpty()) {
            next.listen();
        } else {
            long millis = Math.max(1, slow.get().delay().toMillis());
            vertx.setTimer(millis, _ -> vertx.executeBlocking(() -> listen(next)));
        }
        return next;
    }

    private synchronized boolean listen(ServerInstance<?> next) {
        boolean current = !closed && instance.filter(now -> now == next).isPresent();
        if (current) {
            next.listen();
        }
        return current;
    }

    private static int port(String endpoint) {
        return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
    }

    private static void refuseEventLoop() {
        if (Context.isOnEventLoopThread()) {
            throw new IllegalStateException("An emulator starts and closes by blocking, which an event loop must not.");
        }
    }
}
