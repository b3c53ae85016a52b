package io.holdfast.sidecar.view;

import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EngineWatch;
import io.vertx.core.json.JsonObject;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks at all engines for whoever watches: remembers in short steps what cannot be seen later, and makes an {@link Overview}
 * at most once a second, however many ask for one. Any thread.
 */
public final class Overviews {
    private static final Logger LOG = LoggerFactory.getLogger(Overviews.class);
    /** Logger with a name of its own, so that summaries can be had where little else is logged. */
    private static final Logger SUMMARY = LoggerFactory.getLogger("io.holdfast.summary");

    /** Interval at which {@link #look} is called. */
    public static final Duration LOOKS = Duration.ofMillis(500);

    private static final Duration LASTS = Duration.ofMillis(900);
    private static final int DECISIONS = 2_000;

    private final Map<String, EngineLink> engines;
    private final LongSupplier clock;
    private final InstantSource wall;
    private final DecisionLog decisions;
    private final OtherSegments otherSegments;
    private final Map<String, EngineWatch> watches = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable Overview> latest = new AtomicReference<>();
    private CompletableFuture<Overview> last = CompletableFuture.failedFuture(new IllegalStateException());
    private long lastNanos;

    /** @param engines as they are followed, which may change */
    public Overviews(Map<String, EngineLink> engines, LongSupplier clock, InstantSource wall) {
        this.engines = engines;
        this.clock = clock;
        this.wall = wall;
        this.decisions = new DecisionLog(DECISIONS, wall);
        this.otherSegments = new OtherSegments(engines);
    }

    public DecisionLog decisions() {
        return decisions;
    }

    /** Notes what has changed since the last look. */
    public void look() {
        long now = clock.getAsLong();
        watches.keySet().retainAll(engines.keySet());
        decisions.keepOnly(engines.keySet());
        for (EngineLink link : engines.values()) {
            watch(link).look(now, wall.instant());
            decisions.look(link.id(), link.view(), link.holds());
            link.tellNews();
        }
    }

    private EngineWatch watch(EngineLink link) {
        return watches.compute(
                link.id(), (id, known) -> known != null && known.link() == link ? known : new EngineWatch(link));
    }

    /** The engines as they are now, or were less than a second ago; this one is going to be looked at in detail. */
    public CompletionStage<Overview> now(Optional<String> detailed) {
        long now = clock.getAsLong();
        engines.values().forEach(this::watch);
        Optional<EngineWatch> one = detailed.flatMap(id -> Optional.ofNullable(watches.get(id)));
        one.ifPresent(watch -> watch.want(now));
        boolean unasked = one.isPresent() && one.get().prefixes().isEmpty();
        synchronized (this) {
            boolean old = last.isCompletedExceptionally() || now - lastNanos >= LASTS.toNanos();
            if ((old || unasked) && (last.isDone() || unasked)) {
                lastNanos = now;
                last = made(now);
            }
            return last;
        }
    }

    /** The last one that was made; this engine of it is looked at in detail, and so kept fresh. */
    public Optional<Overview> last(String detailed) {
        Optional.ofNullable(watches.get(detailed)).ifPresent(watch -> watch.want(clock.getAsLong()));
        return Optional.ofNullable(latest.get());
    }

    private CompletableFuture<Overview> made(long now) {
        List<EngineWatch> all = engines.values().stream().map(this::watch).toList();
        return CompletableFuture.allOf(all.stream()
                        .map(watch -> watch.fresh(now).toCompletableFuture())
                        .toArray(CompletableFuture<?>[]::new))
                .thenApply(fresh -> {
                    List<JsonObject> others = otherSegments.now();
                    int segments = others.size()
                            + (int) all.stream()
                                    .filter(watch -> watch.link().limit().isPresent())
                                    .count();
                    Overview seen = Overview.of(
                            wall.instant(),
                            all.stream()
                                    .map(watch -> EngineOverview.of(watch, segments, now))
                                    .toList(),
                            others,
                            watches,
                            decisions);
                    latest.set(seen);
                    return seen;
                });
    }

    /** Says of each engine in the log what it holds, what that saved, how sure that is, and what it would need. */
    public void summarise() {
        now(Optional.empty()).whenComplete((seen, failure) -> {
            if (failure == null) {
                seen.engines().forEach(engine -> SUMMARY.info(engine.summary(true)));
            } else {
                LOG.error("The engines could not be summarised.", failure);
            }
        });
    }
}
