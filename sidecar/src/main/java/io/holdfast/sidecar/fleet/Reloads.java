package io.holdfast.sidecar.fleet;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.DiscoveryConfig;
import io.holdfast.sidecar.config.ReloadReport;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.engine.SharedServices;
import io.holdfast.sidecar.http.Operations;
import io.holdfast.sidecar.http.ServedTls;
import io.vertx.core.http.HttpServer;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes a running sidecar to another configuration, at the request of a signal, of the API, or of a file or name that changed.
 *
 * <p>One reload runs at a time. A configuration is checked whole before anything is done; one that is not sound, or that only a
 * restart can take, changes nothing. One thread, {@code holdfast-discovery}, looks at files and names once in a while.
 */
public final class Reloads implements Operations, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Reloads.class);
    private static final Duration LOOK = Duration.ofSeconds(10);
    private static final int PATIENCE_SECONDS = 5;
    private static final int RELOAD_SECONDS = 60;

    private final Sources sources;
    private final Fleet fleet;
    private final Discovery discovery;
    private final Optional<ServedTls> tls;
    private final HttpServer server;
    private final BooleanSupplier closing;
    private final SharedServices.Seams seams;
    private final ReentrantLock running = new ReentrantLock();
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("holdfast-discovery").daemon().factory());
    private SidecarConfig current;
    private List<Object> stamp = List.of();
    private boolean pending;
    private volatile List<String> standing;
    private volatile List<String> unfollowed = List.of();
    private Future<?> next = CompletableFuture.completedFuture(true);
    private volatile Optional<String> trouble = Optional.empty();

    /**
     * Where a configuration is read anew.
     *
     * @param config throws a {@link ConfigException} where it is not sound
     * @param stamp differs when files that are looked at differ
     */
    public record Sources(Supplier<SidecarConfig> config, Supplier<List<Object>> stamp) {
        /** One that never changes. */
        static Sources fixed(SidecarConfig config) {
            return new Sources(() -> config, List::of);
        }
    }

    Reloads(
            Sources sources,
            SidecarConfig current,
            Fleet fleet,
            Discovery discovery,
            Optional<ServedTls> tls,
            HttpServer server,
            BooleanSupplier closing,
            SharedServices.Seams seams) {
        this.sources = sources;
        this.current = current;
        this.fleet = fleet;
        this.discovery = discovery;
        this.tls = tls;
        this.server = server;
        this.closing = closing;
        this.seams = seams;
        this.standing = current.otherStates().stream()
                .map(other -> "ledgers of an earlier start are in " + other + ", and this one keeps its own in "
                        + current.stateDirectory() + ": holdfast ledger show --state-directory " + other
                        + " says what they list")
                .toList();
    }

    void start() {
        if (current.discovery().isPresent() || tls.isPresent()) {
            stamp = stampNow();
            schedule(0);
        }
    }

    private void schedule(long millis) {
        Future<?> _ = later(this::look, millis);
    }

    private Future<?> later(Runnable task, long millis) {
        try {
            return thread.schedule(task, millis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException closed) {
            LOG.debug("The sidecar closes, so nothing is looked at any more.", closed);
            return CompletableFuture.completedFuture(true);
        }
    }

    /** Follows engines anew that were released while the event thread did not come round; does not wait. */
    void followAnew() {
        followAnew(0);
    }

    private synchronized void followAnew(long millis) {
        next.cancel(false);
        next = later(this::followAnewNow, millis);
    }

    private void followAnewNow() {
        running.lock();
        try {
            if (!closing.getAsBoolean()) {
                List<String> problems = fleet.followAnew();
                problems.stream()
                        .filter(problem -> !unfollowed.contains(problem))
                        .forEach(problem -> LOG.error("Not followed anew: {}; it is tried again.", problem));
                if (!problems.isEmpty()) {
                    followAnew(seams.waitMillis(LOOK));
                }
                unfollowed = problems;
            }
        } catch (RuntimeException | Error e) {
            LOG.error("Engines could not be followed anew; restart the sidecar and report this.", e);
            unfollowed = List.of("engines could not be followed anew (" + e + "); restart the sidecar and report this");
        } finally {
            running.unlock();
        }
    }

    private void look() {
        running.lock();
        try {
            if (!closing.getAsBoolean()) {
                lookNow();
            }
        } catch (RuntimeException | Error e) {
            LOG.error("Looking for engines failed.", e);
        } finally {
            Duration every = current.discovery().map(DiscoveryConfig::every).orElse(LOOK);
            running.unlock();
            schedule(seams.waitMillis(every));
        }
    }

    private void lookNow() {
        List<Object> now = stampNow();
        pending |= !now.equals(stamp);
        stamp = now;
        pending |= discovery.look(current.discovery());
        pending |= tls.map(ServedTls::isStale).orElse(false);
        if (pending) {
            try {
                LOG.info("{}", apply().sentence());
            } catch (ApiError e) {
                said(e.sentence());
            }
        }
    }

    private List<Object> stampNow() {
        try {
            return sources.stamp().get();
        } catch (ConfigException e) {
            said(String.valueOf(e.getMessage()));
            return stamp;
        }
    }

    private void said(String sentence) {
        Optional<String> now = Optional.of("the new configuration is rejected: "
                + (sentence.endsWith(".") ? sentence.substring(0, sentence.length() - 1) : sentence));
        if (!now.equals(trouble)) {
            LOG.warn("Nothing is reloaded: {}", sentence);
        }
        trouble = now;
    }

    @Override
    public ReloadReport reload() {
        return reload(0);
    }

    /** Reloads after a reload that is under way, for a caller that cannot ask again. */
    ReloadReport reloadPatiently() {
        return reload(RELOAD_SECONDS);
    }

    private boolean mayRun(int patienceSeconds) {
        try {
            return running.tryLock(patienceSeconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private ReloadReport reload(int patienceSeconds) {
        if (!mayRun(patienceSeconds)) {
            throw new ApiError(409, "A reload is under way; ask again when it has ended.");
        }
        try {
            if (closing.getAsBoolean()) {
                throw new ApiError(503, "The sidecar is shutting down; ask the next one.");
            }
            boolean idle = current.discovery().isEmpty() && tls.isEmpty();
            boolean _ = discovery.look(sources.config().get().discovery());
            ReloadReport report = apply();
            LOG.info("{}", report.sentence());
            if (idle && current.discovery().isPresent()) {
                start();
            }
            return report;
        } catch (ConfigException e) {
            said(String.valueOf(e.getMessage()));
            throw new ApiError(422, String.valueOf(e.getMessage()));
        } catch (ApiError e) {
            said(e.sentence());
            throw e;
        } finally {
            running.unlock();
        }
    }

    private ReloadReport apply() {
        try {
            SidecarConfig next = discovery.complete(sources.config().get());
            if (tls.isPresent()) {
                tls.get().read(server);
            }
            ReloadReport report = fleet.change(current, next);
            current = next;
            if (!fleet.absent().isEmpty()) {
                followAnew(seams.waitMillis(LOOK));
            }
            pending = false;
            trouble = Optional.empty();
            return report;
        } catch (ConfigException | IOException e) {
            throw new ApiError(422, String.valueOf(e.getMessage()));
        }
    }

    @Override
    public List<String> notes() {
        List<String> notes = new ArrayList<>(standing);
        notes.addAll(discovery.notes());
        trouble.ifPresent(notes::add);
        fleet.note().ifPresent(notes::add);
        notes.addAll(unfollowed);
        return notes;
    }

    @Override
    public Map<String, String> absent() {
        return fleet.absent();
    }

    /** Reloads nothing more; waits for one that is under way, for a bounded time. */
    @Override
    public void close() {
        thread.shutdown();
        try {
            if (running.tryLock(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                running.unlock();
            } else {
                LOG.warn("A reload did not end within {} s; the sidecar ends beside it.", PATIENCE_SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        thread.shutdownNow();
    }
}
