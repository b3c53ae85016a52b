package io.holdfast.sidecar.view;

import io.holdfast.core.EngineView;
import io.holdfast.core.EngineView.Counters;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget.AlarmKind;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.Subscription;
import io.holdfast.evidence.Interval;
import io.holdfast.http.GuardState;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.holdfast.sidecar.engine.EventThread;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.config.MeterFilter;
import io.vertx.micrometer.Label;
import io.vertx.micrometer.MicrometerMetricsOptions;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;

/**
 * What Prometheus may know: views and counters are read when it is scraped, and nothing is counted twice.
 *
 * <p>Labels are the engine and closed sets of words, never a hash, a hold or a client. A reading that the engine did not
 * give is NaN.
 */
public final class Metrics {
    private static final Set<String> METHODS =
            Set.of("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT");

    private final MeterRegistry registry;

    public Metrics(MeterRegistry registry) {
        this.registry = registry;
    }

    /** How HTTP is measured: each label from a closed set, since every value that a client may choose would stay for good. */
    public static MicrometerMetricsOptions http() {
        return new MicrometerMetricsOptions()
                .setEnabled(true)
                // Vert.x keeps registries by name for the whole process, and gives the first one to all that share its.
                .setRegistryName(UUID.randomUUID().toString())
                .addLabels(Label.HTTP_CODE, Label.HTTP_ROUTE)
                .setServerRequestTagsProvider(
                        request -> Tags.of("method", method(request.method().name())));
    }

    /** Requests that no route took are counted under a name. */
    public static MeterFilter unmatchedRoutes() {
        return MeterFilter.replaceTagValues("route", route -> route.isEmpty() ? "unmatched" : route);
    }

    /** A method of HTTP, and OTHER for whatever else a client wrote. */
    public static String method(String written) {
        return METHODS.contains(written) ? written : "OTHER";
    }

    public void follow(EventThread thread) {
        TimeGauge.builder("holdfast.poll.lag", thread, TimeUnit.NANOSECONDS, EventThread::lagNanos)
                .description("Time since the event thread last came round")
                .register(registry);
        FunctionCounter.builder("holdfast.poll.hangs", thread, EventThread::hangs)
                .description("Times that the event thread did not come round and everything was let go of")
                .register(registry);
    }

    /** Shows nothing of an engine any more. */
    public void forget(String engine) {
        registry.getMeters().stream()
                .filter(meter -> engine.equals(meter.getId().getTag("engine")))
                .forEach(registry::remove);
    }

    public void follow(EngineLink engine) {
        gauge(
                engine,
                "holdfast.ready",
                "Whether everything is known that holding needs",
                link -> link.unreadiness().isEmpty() ? 1 : 0);
        gauge(engine, "holdfast.blocks", "Blocks resident in the cache as events tell", view(EngineView::blocks));
        gauge(engine, "holdfast.ghosts", "Removed blocks still remembered", view(EngineView::ghosts));
        gauge(
                engine,
                "holdfast.incarnation",
                "Incarnations of the cache that were followed so far",
                view(EngineView::incarnation));
        gauge(engine, "holdfast.certain", "Whether the view is exact", link -> link.certain() ? 1 : 0);
        pins(engine, "held", PinsView::pinned);
        pins(engine, "leftover", PinsView::leftovers);
        pins(engine, "unsure", PinsView::unsure);
        pins(engine, "kept", PinsView::kept);
        pins(engine, "refused", PinsView::refused);
        pins(engine, "abandoned", PinsView::abandoned);
        gauge(
                engine,
                "holdfast.can.pin",
                "Whether the backend can pin on this engine",
                link -> link.capabilities().map(Capabilities::canPin).orElse(false) ? 1 : 0);
        gauge(
                engine,
                "holdfast.paused",
                "Whether everything was let go of until holding is resumed",
                link -> link.view().paused().isPresent() ? 1 : 0);
        gauge(
                engine,
                "holdfast.internal.error",
                "Whether an internal error of the sidecar ended its work for this engine",
                link -> link.fault().isEmpty() ? 0 : 1);
        gauge(
                engine,
                "holdfast.pinned.tokens",
                "Tokens that the engine has pinned, or may have, for us",
                view(v -> v.budget().pinnedTokens()));
        Gauge.builder("holdfast.unreleasable.tokens", engine, EngineLink::unreleasableTokens)
                .description("Tokens that are pinned for nobody any more and cannot be released")
                .tags(tags(engine))
                .register(registry);
        gauge(
                engine,
                "holdfast.budget.hard.tokens",
                "Tokens that the hard guard allows",
                view(v -> v.budget().hardTokens()));
        gauge(
                engine,
                "holdfast.budget.automatic.tokens",
                "Tokens that automatic holds may take",
                view(v -> v.budget().automaticTokens()));
        gauge(
                engine,
                "holdfast.budget.new.tokens",
                "Tokens that may be pinned in all without taking what running requests may still need",
                view(v -> v.budget().newTokens()));
        gauge(
                engine,
                "holdfast.foreign.pinned.tokens",
                "Tokens that cannot be evicted and that are neither ours nor a running request's",
                view(v -> v.budget().foreignTokens()));
        counter(engine, "holdfast.stalls", "Times that requests waited while nothing ran", EngineView::stalls);
        for (AlarmKind kind : AlarmKind.values()) {
            alarm(engine, kind);
        }
        for (GuardState.Calls calls : GuardState.Calls.values()) {
            guards(engine, calls);
        }
        for (HoldState state : HoldState.values()) {
            for (HoldOrigin origin : HoldOrigin.values()) {
                holds(engine, state, origin);
            }
        }
        reading(
                engine,
                "holdfast.capacity.tokens",
                "Tokens that the KV cache can hold",
                EngineReadings::capacityTokens);
        reading(
                engine,
                "holdfast.context.tokens",
                "Most tokens of a request, prompt and answer",
                EngineReadings::contextTokens);
        for (TtftEffect.State state : TtftEffect.State.values()) {
            Gauge.builder(
                            "holdfast.ttft.state",
                            engine,
                            link -> link.view().ttft().state() == state ? 1 : 0)
                    .description("Whether what holds do to time to first token is in a state")
                    .tags(tags(engine))
                    .tag("state", lower(state))
                    .register(registry);
        }
        gauge(
                engine,
                "holdfast.ttft.effect.percent",
                "Change of time to first token when holding, below zero where it is faster",
                link -> link.view().ttft().effectPercent().orElse(Double.NaN));
        gauge(
                engine,
                "holdfast.ttft.effect.low.percent",
                "The lower end of its 95 % interval",
                link -> link.view()
                        .ttft()
                        .interval95Percent()
                        .map(Interval::low)
                        .orElse(Double.NaN));
        gauge(
                engine,
                "holdfast.ttft.effect.high.percent",
                "The upper end of its 95 % interval",
                link -> link.view()
                        .ttft()
                        .interval95Percent()
                        .map(Interval::high)
                        .orElse(Double.NaN));
        computed(
                engine,
                "holdfast.computed.effect.percent",
                "Change of the prompt tokens that are computed when holding, below zero where they are fewer",
                TtftEffect.Computed::effectPercent);
        computed(
                engine,
                "holdfast.computed.effect.low.percent",
                "The lower end of the 95 % interval of that change",
                each -> each.interval95Percent().stream()
                        .mapToDouble(Interval::low)
                        .findFirst());
        computed(
                engine,
                "holdfast.computed.effect.high.percent",
                "The upper end of the 95 % interval of that change",
                each -> each.interval95Percent().stream()
                        .mapToDouble(Interval::high)
                        .findFirst());
        computed(
                engine,
                "holdfast.computed.share.percent",
                "Part of all requests that it is told of, since they use held prefixes; absent where it is told of all",
                TtftEffect.Computed::sharePercent);
        gauge(
                engine,
                "holdfast.ttft.windows",
                "Windows that the estimate is made of",
                link -> link.view().ttft().windows());
        FunctionCounter.builder(
                        "holdfast.ttft.off.seconds",
                        engine,
                        link -> link.view().ttft().offTime().toMillis() / 1e3)
                .description("How long holds were off to be compared with")
                .tags(tags(engine))
                .register(registry);
        gauge(
                engine,
                "holdfast.ttft.off.prefill.seconds",
                "Prefill that this cost, as far as is known what prefill costs",
                link -> link.view()
                        .ttft()
                        .offPrefill()
                        .map(cost -> cost.toMillis() / 1e3)
                        .orElse(Double.NaN));
        reading(engine, "holdfast.used.tokens", "Tokens that cannot be evicted now", EngineReadings::usedTokens);
        reading(engine, "holdfast.running.requests", "Requests running", EngineReadings::runningRequests);
        reading(engine, "holdfast.waiting.requests", "Requests waiting", EngineReadings::waitingRequests);
        gauge(
                engine,
                "holdfast.requests.invisible.share",
                "Part of the engine's requests that its events do not show",
                view(v -> v.invisibleShare().number().orElse(Double.NaN)));
        gauge(
                engine,
                "holdfast.rank.licensed",
                "Whether anything may be held by its rank now",
                view(v -> v.byRank().licensed() ? 1 : 0));
        rankedHitRatio(engine, "with", Evidence::with);
        rankedHitRatio(engine, "without", Evidence::without);
        shared(engine, "found", Sharing::found);
        shared(engine, "lost", Sharing::lost);
        counter(
                engine,
                "holdfast.prefix.recomputed.blocks",
                "Blocks of shared prefixes that were computed again because the cache had lost them",
                view -> view.sharing().recomputedBlocks());
        for (Hint hint : Hint.values()) {
            counter(
                    engine,
                    "holdfast.hints",
                    "Hints about conversations, by what they say",
                    Tags.of("says", lower(hint)),
                    view -> view.hints().getOrDefault(hint, 0L));
        }
        own(engine, "answered", EngineView.OwnRequests::answered);
        own(engine, "failed", EngineView.OwnRequests::failed);
        counter(
                engine,
                "holdfast.late.touches",
                "Requests to keep a prefix warm that found it gone, and computed it again",
                view -> view.own().lateTouches());
        gauge(
                engine,
                "holdfast.own.requests.hour.seconds",
                "How long the sidecar's own requests took within the last hour",
                view(v -> v.own().withinAnHour().toMillis() / 1e3));
        kvcached(engine);
        events(engine, "holdfast.requests.visible", "Requests that its events showed", Counters::visibleRequests);
        events(engine, "holdfast.events.batches", "Batches applied", Counters::batches);
        events(engine, "holdfast.events.stored.blocks", "Blocks stored", Counters::storedBlocks);
        events(engine, "holdfast.events.removed.blocks", "Blocks removed", Counters::removedBlocks);
        events(
                engine,
                "holdfast.events.removed.unknown.blocks",
                "Removals of blocks that were not known to be there",
                Counters::removedUnknown);
        events(engine, "holdfast.events.clears", "Times the engine cleared its cache", Counters::clears);
        events(engine, "holdfast.events.gaps", "Gaps in the engine's sequence", Counters::gaps);
        events(engine, "holdfast.events.lost.batches", "Batches that never arrived", Counters::lostBatches);
        events(engine, "holdfast.events.restarts", "Times the engine's publisher began anew", Counters::restarts);
        wire(engine, "holdfast.events.received.frames", "Messages received", Subscription::received);
        wire(engine, "holdfast.events.refused.frames", "Messages refused as undecodable", Subscription::refused);
        wire(engine, "holdfast.events.unknown", "Events of an unknown kind, passed over", Subscription::unknownEvents);
        wire(engine, "holdfast.events.duplicate.batches", "Duplicate batches dropped", Subscription::duplicates);
        wire(engine, "holdfast.events.replays", "Replay requests", Subscription::replays);
        wire(engine, "holdfast.events.failed.replays", "Replay requests that failed", Subscription::failedReplays);
        wire(engine, "holdfast.events.replayed.batches", "Batches recovered by replay", Subscription::replayedBatches);
        wire(engine, "holdfast.events.full.rounds", "Rounds that left messages queued", Subscription::fullRounds);
    }

    private void guards(EngineLink engine, GuardState.Calls calls) {
        Tags tags = tags(engine).and("calls", lower(calls));
        for (GuardState.Breaker state : GuardState.Breaker.values()) {
            Gauge.builder(
                            "holdfast.engine.breaker",
                            engine,
                            link -> link.guard(calls).breaker() == state ? 1 : 0)
                    .description("Whether the breaker of calls to the engine is in this state")
                    .tags(tags.and("state", lower(state)))
                    .register(registry);
        }
        Gauge.builder(
                        "holdfast.engine.calls.under.way",
                        engine,
                        link -> link.guard(calls).underWay())
                .description("Calls to the engine that have not ended yet")
                .tags(tags)
                .register(registry);
        Gauge.builder(
                        "holdfast.engine.calls.most",
                        engine,
                        link -> link.guard(calls).mostUnderWay())
                .description("Calls to the engine that may be under way at once")
                .tags(tags)
                .register(registry);
        turnedAway(engine, calls, "breaker", GuardState::turnedAwayByBreaker);
        turnedAway(engine, calls, "bulkhead", GuardState::turnedAwayByBulkhead);
        turnedAway(engine, calls, "rate", GuardState::turnedAwayByRate);
        FunctionCounter.builder(
                        "holdfast.engine.calls.timed.out",
                        engine,
                        link -> link.guard(calls).timedOut())
                .description("Calls to the engine that the time limit ended")
                .tags(tags)
                .register(registry);
    }

    private void turnedAway(EngineLink engine, GuardState.Calls calls, String by, ToLongFunction<GuardState> count) {
        FunctionCounter.builder(
                        "holdfast.engine.calls.turned.away", engine, link -> count.applyAsLong(link.guard(calls)))
                .description("Calls to the engine that were not made, by what forbade them")
                .tags(tags(engine).and("calls", lower(calls)).and("by", by))
                .register(registry);
    }

    private void kvcached(EngineLink engine) {
        bytes(engine, "holdfast.kvcached.limit.bytes", "What its kvcached segment allows", Segment::limitBytes);
        bytes(engine, "holdfast.kvcached.used.bytes", "What its pages in use take, by its segment", Segment::usedBytes);
        bytes(
                engine,
                "holdfast.kvcached.preallocated.bytes",
                "What is mapped in advance and not in use, by its segment",
                Segment::preallocatedBytes);
        gauge(
                engine,
                "holdfast.kvcached.mapped.percent",
                "How much of its kvcached limit is mapped",
                link -> limit(link).map(LimitView::percent).orElse(Double.NaN));
        gauge(
                engine,
                "holdfast.kvcached.startup.bytes",
                "The kvcached limit that it started with, as far as that was seen",
                link -> limit(link)
                        .flatMap(view -> view.startupBytes().stream().boxed().findFirst())
                        .map(Long::doubleValue)
                        .orElse(Double.NaN));
        for (LimitView.State state : LimitView.State.values()) {
            Gauge.builder(
                            "holdfast.kvcached.state",
                            engine,
                            link -> limit(link)
                                            .filter(view -> view.state() == state)
                                            .isPresent()
                                    ? 1
                                    : 0)
                    .description("Whether its kvcached limit is in a state")
                    .tags(tags(engine))
                    .tag("state", lower(state))
                    .register(registry);
        }
        limits(engine, "holdfast.kvcached.moves", "Times that its limit was moved here", LimitView::moves);
        limits(
                engine,
                "holdfast.kvcached.rollbacks",
                "Times that a smaller limit was taken back since requests suffered",
                LimitView::rollbacks);
        limits(
                engine,
                "holdfast.kvcached.foreign.moves",
                "Times that somebody else moved its limit",
                LimitView::foreign);
        limits(engine, "holdfast.kvcached.busy", "Writes that others' locks kept out", LimitView::busy);
    }

    private static Optional<LimitView> limit(EngineLink link) {
        return link.limit().map(EngineLimit::view);
    }

    private void bytes(EngineLink engine, String name, String what, ToLongFunction<Segment> value) {
        gauge(
                engine,
                name,
                what,
                link -> limit(link)
                        .flatMap(LimitView::segment)
                        .map(segment -> (double) value.applyAsLong(segment))
                        .orElse(Double.NaN));
    }

    private void limits(EngineLink engine, String name, String what, ToLongFunction<LimitView> count) {
        FunctionCounter.builder(
                        name,
                        engine,
                        link -> limit(link).map(count::applyAsLong).orElse(0L))
                .description(what)
                .tags(tags(engine))
                .register(registry);
    }

    private void alarm(EngineLink engine, AlarmKind kind) {
        Gauge.builder(
                        "holdfast.alarm",
                        engine,
                        link -> link.view().alarms().stream()
                                .filter(alarm -> alarm.kind() == kind)
                                .count())
                .description("Whether the guard tells the operator of something, by what it is")
                .tags(tags(engine))
                .tag("kind", lower(kind))
                .register(registry);
    }

    private void holds(EngineLink engine, HoldState state, HoldOrigin origin) {
        Gauge.builder(
                        "holdfast.holds",
                        engine,
                        link -> link.holds().stream()
                                .filter(hold -> hold.state() == state && hold.origin() == origin)
                                .count())
                .description("Holds by state and origin")
                .tags(tags(engine))
                .tag("state", lower(state))
                .tag("origin", lower(origin))
                .register(registry);
    }

    private void pins(EngineLink engine, String state, ToIntFunction<PinsView> count) {
        Gauge.builder("holdfast.pins", engine, link -> count.applyAsInt(link.pins()))
                .description("Pins that the engine has, or may have, for us, by how sure that is")
                .tags(tags(engine))
                .tag("state", state)
                .register(registry);
    }

    private void reading(EngineLink engine, String name, String what, Function<EngineReadings, Reading> reading) {
        gauge(
                engine,
                name,
                what + ", as the engine reports",
                link -> reading.apply(link.view().readings()).number().orElse(Double.NaN));
    }

    private void computed(
            EngineLink engine, String name, String description, Function<TtftEffect.Computed, OptionalDouble> value) {
        gauge(
                engine,
                name,
                description,
                link -> link.view()
                        .ttft()
                        .computed()
                        .map(value)
                        .orElse(OptionalDouble.empty())
                        .orElse(Double.NaN));
    }

    private void gauge(EngineLink engine, String name, String what, ToDoubleFunction<EngineLink> value) {
        Gauge.builder(name, engine, value).description(what).tags(tags(engine)).register(registry);
    }

    private void counter(EngineLink engine, String name, String what, ToLongFunction<EngineView> count) {
        counter(engine, name, what, Tags.empty(), count);
    }

    private void counter(EngineLink engine, String name, String what, Tags labels, ToLongFunction<EngineView> count) {
        FunctionCounter.builder(name, engine, link -> count.applyAsLong(link.view()))
                .description(what)
                .tags(tags(engine).and(labels))
                .register(registry);
    }

    /** Of the events of all its caches together. */
    private void events(EngineLink engine, String name, String what, ToLongFunction<Counters> count) {
        counter(engine, name, what, view -> count.applyAsLong(view.counters()));
    }

    private void wire(EngineLink engine, String name, String what, ToLongFunction<Subscription> count) {
        FunctionCounter.builder(
                        name,
                        engine,
                        link -> link.subscriptions().stream().mapToLong(count).sum())
                .description(what)
                .tags(tags(engine))
                .register(registry);
    }

    private static ToDoubleFunction<EngineLink> view(ToDoubleFunction<EngineView> value) {
        return link -> value.applyAsDouble(link.view());
    }

    private void rankedHitRatio(EngineLink engine, String holds, ToDoubleFunction<Evidence> found) {
        Gauge.builder("holdfast.rank.hit.ratio", engine, link -> {
                    Evidence shadows = link.view().byRank().shadows();
                    return shadows.of() < 1 ? Double.NaN : found.applyAsDouble(shadows) / shadows.of();
                })
                .description(
                        "Part of recent prompts that a simulation of the cache finds, with holds by rank and without")
                .tags(tags(engine).and("holds", holds))
                .register(registry);
    }

    private void shared(EngineLink engine, String result, ToLongFunction<Sharing> value) {
        counter(
                engine,
                "holdfast.prefix.requests",
                "Requests over a shared prefix, by whether they found it in the cache",
                Tags.of("result", result),
                view -> value.applyAsLong(view.sharing()));
    }

    private void own(EngineLink engine, String result, ToLongFunction<EngineView.OwnRequests> value) {
        counter(
                engine,
                "holdfast.own.requests",
                "Requests that the sidecar sent to store or to keep a prefix, by what became of it",
                Tags.of("result", result),
                view -> value.applyAsLong(view.own()));
    }

    private static Tags tags(EngineLink engine) {
        return Tags.of("engine", engine.id());
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
