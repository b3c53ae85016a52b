package io.holdfast.sidecar.engine;

import io.holdfast.embed.ledger.LedgerFiles;
import io.holdfast.kvcached.DevicePool;
import io.holdfast.kvcached.LimitLever;
import io.holdfast.kvcached.LimitRecord;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.Move;
import io.holdfast.kvcached.Refusal;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.kvcached.SegmentWriter;
import io.holdfast.kvcached.WriteResult;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.store.LimitFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The kvcached limits of all engines of a sidecar.
 *
 * <p>One thread, {@code holdfast-kvcached}, looks at every segment once a second, lets the levers decide, writes down and makes
 * their moves; a move takes it some 150 ms. Requests of operators are its tasks as well, so that nothing here is shared.
 */
public final class Limits implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Limits.class);
    private static final long LOOK_MILLIS = 1_000;
    private static final int END_SECONDS = 3;
    /** A reason that stands for less is not told. */
    private static final long STANDS_NANOS = 3_000_000_000L;

    /** One engine's lever with what acts for it. */
    private record Followed(
            EngineLimit engine, LimitLever lever, DevicePool pool, LimitFile ledger, Optional<String> unreadable) {}

    /** Why a limit is not moved, and since when that is so. */
    private record Said(String sentence, long sinceNanos) {}

    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(
            Thread.ofPlatform().name("holdfast-kvcached").daemon().factory());
    private final LongSupplier clock;
    private final Optional<SegmentWriter> writer;
    private final Optional<String> withoutWriter;
    private final Map<EngineLimit, Followed> followed = new LinkedHashMap<>();
    private final Map<EngineLimit, Said> said = new LinkedHashMap<>();

    private final Map<EngineLimit, String> logged = new LinkedHashMap<>();

    /** Linking a writer to the calls of the system takes a while, so only who has a segment to write gets one. */
    private Limits(LongSupplier clock, boolean writes) {
        this.clock = clock;
        Optional<SegmentWriter> made = Optional.empty();
        Optional<String> why = Optional.empty();
        try {
            made = writes ? Optional.of(new SegmentWriter(LockSupport::parkNanos)) : Optional.empty();
        } catch (UnsupportedOperationException | IllegalCallerException e) {
            why = Optional.of("A segment can be written on Linux alone: " + e.getMessage());
        }
        this.writer = made;
        this.withoutWriter = why;
    }

    /** Looks at the segments that the configuration names, from now on. */
    public static Limits follow(SidecarConfig config, LongSupplier clock, LedgerFiles files) {
        Limits limits = new Limits(
                clock,
                config.engines().stream()
                        .anyMatch(engine -> engine.kvcachedSegment().isPresent()));
        Map<String, DevicePool> devices = new LinkedHashMap<>();
        config.devices()
                .forEach(device -> devices.put(device.id(), new DevicePool(OptionalLong.of(device.budgetBytes()))));
        for (EngineConfig engine : config.engines()) {
            engine.kvcachedSegment().ifPresent(name -> {
                EngineLimit limit = new EngineLimit(engine, SegmentReader.file(name), limits);
                DevicePool pool =
                        engine.limit().device().map(devices::get).orElseGet(() -> new DevicePool(OptionalLong.empty()));
                limits.add(limit, pool, new LimitFile(config.stateDirectory(), engine.id(), files));
            });
        }
        return limits;
    }

    private void add(EngineLimit limit, DevicePool pool, LimitFile ledger) {
        Optional<LimitRecord> remembered = Optional.empty();
        Optional<String> unreadable = Optional.empty();
        try {
            remembered = ledger.read();
        } catch (IOException e) {
            unreadable = Optional.of(String.valueOf(e.getMessage()));
        }
        LimitLever lever =
                new LimitLever(limit.file().toString(), limit.config().limit().settings(), remembered);
        pool.add(lever);
        followed.put(limit, new Followed(limit, lever, pool, ledger, unreadable));
    }

    /** Begins to look; what was found by then is there to be seen. */
    public void start() {
        if (!followed.isEmpty()) {
            CompletableFuture.runAsync(this::look, thread).join();
            ScheduledFuture<?> _ =
                    thread.scheduleWithFixedDelay(this::look, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    public Optional<EngineLimit> of(String engineId) {
        return followed.keySet().stream()
                .filter(limit -> limit.config().id().equals(engineId))
                .findFirst();
    }

    private void look() {
        try {
            for (Followed each : followed.values()) {
                Path file = each.engine.file();
                each.lever.look(
                        SegmentReader.read(file),
                        SegmentReader.lastWrittenNanos(file),
                        each.engine.load(),
                        cannotMove(each),
                        clock.getAsLong());
            }
            followed.values().stream()
                    .map(Followed::pool)
                    .distinct()
                    .forEach(pool -> pool.followPressure(clock.getAsLong()));
            followed.values().forEach(this::move);
            followed.values().forEach(this::show);
        } catch (RuntimeException e) {
            LOG.error("Looking at the kvcached segments failed.", e);
        }
    }

    private Optional<String> cannotMove(Followed each) {
        Path file = each.engine.file();
        return withoutWriter
                .or(each::unreadable)
                .or(() -> Files.exists(file) && !Files.isWritable(file)
                        ? Optional.of("The segment " + file
                                + " may be read and not written: run Holdfast as the engine's user.")
                        : Optional.empty());
    }

    private void move(Followed each) {
        each.pool.next(each.lever, clock.getAsLong()).ifPresent(move -> make(each, move));
    }

    private void make(Followed each, Move move) {
        LimitRecord record = each.pool.begins(each.lever, move);
        WriteResult result;
        try {
            each.ledger.write(record);
            result = writer.orElseThrow().write(each.engine.file(), move);
        } catch (IOException e) {
            result = new WriteResult.Refused(String.valueOf(e.getMessage()));
        }
        each.pool.ended(each.lever, move, result, clock.getAsLong());
        LOG.info(
                "Engine {}: the limit of {} from {} to {} bytes ({}): {}.",
                each.engine.config().id(),
                each.engine.file(),
                move.from(),
                move.to(),
                move.reason(),
                result.getClass().getSimpleName().toLowerCase(Locale.ROOT));
    }

    private void show(Followed each) {
        LimitView view = each.lever.view();
        each.engine.seen(view, each.pool.excess());
        boolean stands = view.state() == LimitView.State.REQUESTED || view.state() == LimitView.State.IN_FORCE;
        if (stands) {
            said.remove(each.engine);
            return;
        }
        long now = clock.getAsLong();
        Said stood = said.compute(
                each.engine,
                (engine, before) -> before != null && before.sentence.equals(view.sentence())
                        ? before
                        : new Said(view.sentence(), now));
        // An engine that was not asked yet has not answered either, and one answer may be late.
        if (now - stood.sinceNanos >= STANDS_NANOS && !stood.sentence.equals(logged.put(each.engine, stood.sentence))) {
            LOG.warn("Engine {}: {}", each.engine.config().id(), stood.sentence);
        }
    }

    CompletionStage<LimitView> request(EngineLimit engine, long bytes) {
        return asked(engine, each -> each.pool.request(each.lever, bytes));
    }

    CompletionStage<LimitView> restore(EngineLimit engine) {
        return asked(engine, each -> each.lever.restore());
    }

    private interface Asking {
        Optional<Refusal> of(Followed each);
    }

    private CompletionStage<LimitView> asked(EngineLimit engine, Asking asking) {
        return onThread(() -> {
            look();
            Optional<Refusal> refusal = asking.of(followed(engine));
            if (refusal.isPresent()) {
                throw new ApiError(
                        refusal.get().never() ? 422 : 409, refusal.get().sentence());
            }
            move(followed(engine));
            show(followed(engine));
            return engine.view();
        });
    }

    CompletionStage<Boolean> resume(EngineLimit engine) {
        return onThread(() -> {
            boolean was = followed(engine).lever.resume();
            look();
            return was;
        });
    }

    private Followed followed(EngineLimit engine) {
        Followed found = followed.get(engine);
        if (found == null) {
            throw new IllegalStateException("Engine " + engine.config().id() + " has no lever.");
        }
        return found;
    }

    private <T> CompletionStage<T> onThread(Supplier<T> task) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        try {
            thread.execute(() -> {
                try {
                    answer.complete(task.get());
                } catch (RuntimeException e) {
                    answer.completeExceptionally(e);
                }
            });
        } catch (RejectedExecutionException e) {
            answer.completeExceptionally(new ApiError(503, "The sidecar is shutting down; ask the next one."));
        }
        return answer;
    }

    /** Leaves safe limits behind, for a bounded time, and looks no more. */
    @Override
    public void close() {
        CompletionStage<Boolean> left = onThread(() -> {
            followed.values().forEach(each -> each.pool.last(each.lever).ifPresent(move -> make(each, move)));
            return true;
        });
        try {
            left.toCompletableFuture().get(END_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException e) {
            LOG.warn("Not every kvcached limit was restored; each is safe as it stands.");
            LOG.debug("What kept them", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        thread.shutdownNow();
    }
}
