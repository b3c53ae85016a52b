package io.holdfast.sidecar.view;

import io.holdfast.core.EngineView;
import io.holdfast.core.EngineView.Counters;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.budget.Budget.AlarmKind;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.pin.PinsView;
import io.holdfast.core.rank.Evidence;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.embed.cell.CellCounters;
import io.holdfast.embed.cell.CellMember;
import io.holdfast.events.Subscription;
import io.holdfast.evidence.Interval;
import io.holdfast.http.GuardState;
import io.holdfast.kvcached.LimitView;
import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.sidecar.engine.EngineLimit;
import io.holdfast.sidecar.engine.EngineLink;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * Every metric of an engine: name, unit, help text and where its number comes from. The table of the documentation is
 * made of these rows, so a new metric is one row here.
 *
 * <p>A metric with labels has one series for each of their values. The values are enums or words written here, never
 * anything that a client or an engine can choose.
 */
final class MetricTable {
    /** One metric. */
    record Metric(String name, boolean counts, String unit, String help, List<Series> series) {
        void register(EngineLink engine, MeterRegistry registry) {
            for (Series one : series) {
                Tags tags = one.labels().and("engine", engine.id());
                if (counts) {
                    FunctionCounter.builder(name, engine, one.value())
                            .description(help)
                            .tags(tags)
                            .register(registry);
                } else {
                    Gauge.builder(name, engine, one.value())
                            .description(help)
                            .tags(tags)
                            .register(registry);
                }
            }
        }
    }

    /** One value of each label of a metric, and its number. */
    record Series(Tags labels, ToDoubleFunction<EngineLink> value) {}

    private MetricTable() {}

    static List<Metric> all() {
        return Stream.of(state(), budget(), holds(), effect(), calls(), kvcached(), events())
                .flatMap(List::stream)
                .toList();
    }

    private static List<Metric> state() {
        return List.of(
                flag(
                        "ready",
                        "1 while everything that holding needs is known",
                        link -> link.report().unreadiness().isEmpty()),
                flag("certain", "1 while the view is exact", EngineLink::certain),
                gauge(
                        "view.certain.after.seconds",
                        "seconds",
                        "Time from the start until the view was exact for the first time",
                        link -> link.views()
                                .certainAfter()
                                .map(after -> after.toMillis() / 1e3)
                                .orElse(Double.NaN)),
                count(
                        "view.blind.queries",
                        "queries",
                        "Queries of routers answered while the view was not exact",
                        List.of(series(Tags.empty(), link -> link.views().blind()))),
                flag(
                        "can.pin",
                        "1 where the backend can hold on this engine",
                        link -> link.capabilities().map(Capabilities::canPin).orElse(false)),
                flag(
                        "paused",
                        "1 while holding is paused, after everything was released",
                        link -> link.view().paused().isPresent()),
                flag(
                        "internal.error",
                        "1 when an internal error ended the work for this engine",
                        link -> !link.fault().isEmpty()),
                flag(
                        "rank.licensed",
                        "1 while holding by rank is allowed",
                        link -> link.view().byRank().licensed()),
                view("blocks", "blocks", "Blocks in the cache, by the engine's events", EngineView::blocks),
                view("ghosts", "blocks", "Removed blocks that are still remembered", EngineView::ghosts),
                view(
                        "memory.bytes",
                        "bytes",
                        "Memory taken by what left the cache, and by tokens",
                        view -> view.memory().bytes()),
                view(
                        "memory.limit.bytes",
                        "bytes",
                        "Memory that this may take, by the key memory",
                        view -> view.memory().most()),
                counter(
                        "memory.shortages",
                        "times",
                        "Times that something was forgotten for want of memory",
                        view -> view.memory().shortages()),
                view("incarnation", "number", "Incarnations of the cache followed so far", EngineView::incarnation),
                counter("stalls", "times", "Times that requests waited while none ran", EngineView::stalls),
                reading(
                        "capacity.tokens",
                        "tokens",
                        "Tokens that the KV cache can hold",
                        EngineReadings::capacityTokens),
                reading("context.tokens", "tokens", "Limit on the tokens of a request", EngineReadings::contextTokens),
                reading("used.tokens", "tokens", "Tokens that cannot be evicted now", EngineReadings::usedTokens),
                reading("running.requests", "requests", "Running requests", EngineReadings::runningRequests),
                reading("waiting.requests", "requests", "Waiting requests", EngineReadings::waitingRequests),
                view(
                        "requests.invisible.share",
                        "0 to 1",
                        "Share of the engine's requests that its events do not show",
                        view -> view.invisibleShare().number().orElse(Double.NaN)),
                metric(
                        "alarm",
                        "0 or 1",
                        "1 while the guard warns the operator, by kind of warning",
                        each(
                                "kind",
                                AlarmKind.values(),
                                (kind, link) -> link.view().alarms().stream()
                                        .filter(alarm -> alarm.kind() == kind)
                                        .count())));
    }

    private static List<Metric> budget() {
        return List.of(
                tokens(
                        "pinned",
                        "Tokens that the engine has pinned, or may have pinned, for Holdfast",
                        Budget::pinnedTokens),
                tokens("budget.hard", "Tokens that the hard guard allows", Budget::hardTokens),
                tokens("budget.automatic", "Tokens that automatic holds may take", Budget::automaticTokens),
                tokens(
                        "budget.new",
                        "Tokens that may be pinned without taking what running requests may still need",
                        Budget::newTokens),
                tokens(
                        "foreign.pinned",
                        "Tokens that cannot be evicted and belong neither to Holdfast nor to a running request",
                        Budget::foreignTokens),
                gauge(
                        "unreleasable.tokens",
                        "tokens",
                        "Pinned tokens that no hold needs and that cannot be released",
                        EngineLink::unreleasableTokens));
    }

    private static List<Metric> holds() {
        return List.of(
                metric(
                        "holds",
                        "holds",
                        "Holds by state and origin",
                        Arrays.stream(HoldState.values())
                                .flatMap(state -> Arrays.stream(HoldOrigin.values())
                                        .map(origin -> series(
                                                Tags.of("state", ApiJson.lower(state), "origin", ApiJson.lower(origin)),
                                                link -> link.holds().stream()
                                                        .filter(hold ->
                                                                hold.state() == state && hold.origin() == origin)
                                                        .count())))
                                .toList()),
                metric(
                        "pins",
                        "pins",
                        "Pins that the engine has, or may have, for Holdfast, by how certain that is",
                        List.of(
                                pins("held", PinsView::pinned),
                                pins("leftover", PinsView::leftovers),
                                pins("unsure", PinsView::unsure),
                                pins("kept", PinsView::kept),
                                pins("refused", PinsView::refused),
                                pins("abandoned", PinsView::abandoned))),
                metric(
                        "rank.hit.ratio",
                        "0 to 1",
                        "Share of recent prompts that a simulated cache finds, with holds by rank and without",
                        List.of(
                                series("holds", "with", link -> found(link, Evidence::with)),
                                series("holds", "without", link -> found(link, Evidence::without)))),
                count(
                        "prefix.requests",
                        "requests",
                        "Requests over a shared prefix, by whether they found it in the cache",
                        List.of(
                                ofView("result", "found", view -> view.sharing().found()),
                                ofView("result", "lost", view -> view.sharing().lost()))),
                counter(
                        "prefix.recomputed.blocks",
                        "blocks",
                        "Blocks of shared prefixes that were computed again because the cache had lost them",
                        view -> view.sharing().recomputedBlocks()),
                count(
                        "hints",
                        "hints",
                        "Hints about conversations, by what they say",
                        each(
                                "says",
                                Hint.values(),
                                (hint, link) -> link.view().hints().getOrDefault(hint, 0L))),
                counter(
                        "released.tokens",
                        "tokens",
                        "Tokens that were given back on behalf of those who are finished",
                        view -> view.released().tokens()),
                count(
                        "released.found.tokens",
                        "tokens",
                        "Tokens that requests found because others had given memory back; NaN where it cannot be"
                                + " measured",
                        List.of(series(
                                Tags.empty(),
                                link -> link.view()
                                        .released()
                                        .foundTokens()
                                        .number()
                                        .orElse(Double.NaN)))),
                count(
                        "own.requests",
                        "requests",
                        "Requests that the sidecar sent to store a prefix or to keep it warm, by result",
                        List.of(
                                ofView("result", "answered", view -> view.own().answered()),
                                ofView("result", "failed", view -> view.own().failed()))),
                counter(
                        "late.touches",
                        "requests",
                        "Requests to keep a prefix warm that found it gone and computed it again",
                        view -> view.own().lateTouches()),
                view(
                        "own.requests.hour.seconds",
                        "seconds",
                        "Time that the sidecar's own requests took within the last hour",
                        view -> view.own().withinAnHour().toMillis() / 1e3));
    }

    private static List<Metric> effect() {
        return List.of(
                metric(
                        "ttft.state",
                        "0 or 1",
                        "1 for the state of the effect of holds on time to first token",
                        each(
                                "state",
                                TtftEffect.State.values(),
                                (state, link) -> link.view().ttft().state() == state ? 1 : 0)),
                ttft(
                        "ttft.effect.percent",
                        "percent",
                        "Change of time to first token while holding; negative is faster",
                        TtftEffect::effectPercent),
                ttft(
                        "ttft.effect.low.percent",
                        "percent",
                        "Lower end of its 95 % interval",
                        ttft -> end(ttft.interval95Percent(), Interval::low)),
                ttft(
                        "ttft.effect.high.percent",
                        "percent",
                        "Upper end of its 95 % interval",
                        ttft -> end(ttft.interval95Percent(), Interval::high)),
                ttft(
                        "ttft.windows",
                        "windows",
                        "Windows behind the estimate",
                        ttft -> OptionalDouble.of(ttft.windows())),
                count(
                        "ttft.off.seconds",
                        "seconds",
                        "Time for which holds were off, for comparison",
                        List.of(series(
                                Tags.empty(),
                                link -> link.view().ttft().offTime().toMillis() / 1e3))),
                ttft(
                        "ttft.off.prefill.seconds",
                        "seconds",
                        "Prefill time that this cost, where the cost of prefill is known",
                        ttft -> ttft.offPrefill().stream()
                                .mapToDouble(cost -> cost.toMillis() / 1e3)
                                .findFirst()),
                computed(
                        "effect.percent",
                        "Change of computed prompt tokens while holding; negative is fewer",
                        TtftEffect.Computed::effectPercent),
                computed(
                        "effect.low.percent",
                        "Lower end of the 95 % interval of that change",
                        computed -> end(computed.interval95Percent(), Interval::low)),
                computed(
                        "effect.high.percent",
                        "Upper end of the 95 % interval of that change",
                        computed -> end(computed.interval95Percent(), Interval::high)),
                computed(
                        "share.percent",
                        "Share of requests that this change is about, which use held prefixes; NaN where it is about"
                                + " all",
                        TtftEffect.Computed::sharePercent));
    }

    private static List<Metric> calls() {
        return List.of(
                metric(
                        "engine.breaker",
                        "0 or 1",
                        "1 for the state of the circuit breaker of calls to the engine",
                        Arrays.stream(GuardState.Calls.values())
                                .flatMap(calls -> Arrays.stream(GuardState.Breaker.values())
                                        .map(state -> series(
                                                Tags.of("calls", ApiJson.lower(calls), "state", ApiJson.lower(state)),
                                                link -> link.guard(calls).breaker() == state ? 1 : 0)))
                                .toList()),
                metric(
                        "engine.calls.under.way",
                        "calls",
                        "Calls to the engine that have not ended yet",
                        guarded(GuardState::underWay)),
                metric(
                        "engine.calls.most",
                        "calls",
                        "Limit on concurrent calls to the engine",
                        guarded(GuardState::mostUnderWay)),
                count(
                        "engine.calls.timed.out",
                        "calls",
                        "Calls to the engine that the time limit ended",
                        guarded(GuardState::timedOut)),
                count(
                        "engine.calls.turned.away",
                        "calls",
                        "Calls to the engine that were not made, by the guard that refused them",
                        Stream.of(
                                        refused("breaker", GuardState::turnedAwayByBreaker),
                                        refused("bulkhead", GuardState::turnedAwayByBulkhead),
                                        refused("rate", GuardState::turnedAwayByRate))
                                .flatMap(List::stream)
                                .toList()));
    }

    private static List<Metric> kvcached() {
        return List.of(
                segment("limit.bytes", "Bytes that the kvcached segment allows", Segment::limitBytes),
                segment("used.bytes", "Bytes of pages in use, by the kvcached segment", Segment::usedBytes),
                segment(
                        "preallocated.bytes",
                        "Bytes mapped in advance and not in use, by the kvcached segment",
                        Segment::preallocatedBytes),
                gauge(
                        "kvcached.mapped.percent",
                        "percent",
                        "Share of the kvcached limit that is mapped",
                        link -> limit(link).map(LimitView::percent).orElse(Double.NaN)),
                gauge(
                        "kvcached.startup.bytes",
                        "bytes",
                        "kvcached limit at the engine's start, where that was seen",
                        link -> limit(link).stream()
                                .flatMap(view -> view.startupBytes().stream().boxed())
                                .mapToDouble(Long::doubleValue)
                                .findFirst()
                                .orElse(Double.NaN)),
                metric(
                        "kvcached.state",
                        "0 or 1",
                        "1 for the state of the kvcached limit",
                        each(
                                "state",
                                LimitView.State.values(),
                                (state, link) -> limit(link)
                                                .filter(view -> view.state() == state)
                                                .isPresent()
                                        ? 1
                                        : 0)),
                moves("moves", "times", "Times that Holdfast moved the kvcached limit", LimitView::moves),
                moves(
                        "rollbacks",
                        "times",
                        "Times that a smaller kvcached limit was taken back because requests suffered",
                        LimitView::rollbacks),
                moves(
                        "foreign.moves",
                        "times",
                        "Times that another program moved the kvcached limit",
                        LimitView::foreign),
                moves(
                        "busy",
                        "writes",
                        "Writes of the kvcached limit that other programs' locks prevented",
                        LimitView::busy));
    }

    private static List<Metric> events() {
        return List.of(
                seen(
                        "requests.visible",
                        "requests",
                        "Requests that the engine's events showed",
                        Counters::visibleRequests),
                seen("events.batches", "batches", "Batches applied", Counters::batches),
                seen("events.stored.blocks", "blocks", "Blocks stored", Counters::storedBlocks),
                seen("events.removed.blocks", "blocks", "Blocks removed", Counters::removedBlocks),
                seen(
                        "events.removed.unknown.blocks",
                        "blocks",
                        "Removals of blocks that were not known to be in the cache",
                        Counters::removedUnknown),
                seen("events.clears", "times", "Times that the engine cleared its cache", Counters::clears),
                seen("events.gaps", "times", "Gaps in the engine's sequence", Counters::gaps),
                seen("events.lost.batches", "batches", "Batches that never arrived", Counters::lostBatches),
                seen("events.restarts", "times", "Times that the engine's publisher started again", Counters::restarts),
                wire("received.frames", "messages", "Messages received", Subscription::received),
                wire(
                        "refused.frames",
                        "messages",
                        "Messages refused because they cannot be decoded",
                        Subscription::refused),
                wire("unknown", "events", "Events of an unknown kind, which are skipped", Subscription::unknownEvents),
                wire("duplicate.batches", "batches", "Duplicate batches dropped", Subscription::duplicates),
                wire("replays", "requests", "Replay requests", Subscription::replays),
                wire("failed.replays", "requests", "Replay requests that failed", Subscription::failedReplays),
                wire("replayed.batches", "batches", "Batches recovered by replay", Subscription::replayedBatches),
                wire(
                        "full.rounds",
                        "rounds",
                        "Reading rounds that left messages in the queue",
                        Subscription::fullRounds),
                gauge(
                        "fleet.engines",
                        "engines",
                        "Engines of its cell that are there, itself among them; 0 while the store does not answer, NaN"
                                + " where nothing is shared",
                        link -> cell(link, member -> member.view().engines().size())),
                gauge(
                        "fleet.follows",
                        "0 to 1",
                        "How far touches go where their prefix is cached: 0 by chance, 1 all that can; NaN where"
                                + " nothing is shared",
                        link -> cell(link, member -> member.view().follows())),
                gauge(
                        "fleet.holds",
                        "holds",
                        "Holds of the fleet for which this engine is chosen; NaN where nothing is shared",
                        link -> cell(link, member -> member.wanted().size())),
                count(
                        "fleet.rounds",
                        "rounds",
                        "Rounds of calls to the fleet's store",
                        List.of(
                                shared("outcome", "answered", counters -> counters.rounds() - counters.failed()),
                                shared("outcome", "failed", CellCounters::failed))),
                count(
                        "fleet.bytes",
                        "bytes",
                        "Bytes of values that were read from the fleet's store and written to it",
                        List.of(
                                shared("direction", "read", CellCounters::bytesIn),
                                shared("direction", "written", CellCounters::bytesOut))),
                count(
                        "fleet.refused",
                        "values",
                        "Values of the fleet's store that were not used: of another version, out of bounds, or no such"
                                + " value",
                        List.of(series(
                                Tags.empty(),
                                link -> link.cell()
                                        .map(member -> member.counters().refused().values().stream()
                                                .mapToLong(Long::longValue)
                                                .sum())
                                        .orElse(0L)))));
    }

    private static double cell(EngineLink link, ToDoubleFunction<CellMember> value) {
        return link.cell().map(value::applyAsDouble).orElse(Double.NaN);
    }

    private static Series shared(String label, String labelled, ToLongFunction<CellCounters> value) {
        return series(
                label,
                labelled,
                link -> link.cell()
                        .map(member -> value.applyAsLong(member.counters()))
                        .orElse(0L));
    }

    private static Metric metric(String name, String unit, String help, List<Series> series) {
        return new Metric("holdfast." + name, false, unit, help, series);
    }

    private static Metric count(String name, String unit, String help, List<Series> series) {
        return new Metric("holdfast." + name, true, unit, help, series);
    }

    private static Metric gauge(String name, String unit, String help, ToDoubleFunction<EngineLink> value) {
        return metric(name, unit, help, List.of(series(Tags.empty(), value)));
    }

    private static Metric flag(String name, String help, Predicate<EngineLink> value) {
        return gauge(name, "0 or 1", help, link -> value.test(link) ? 1 : 0);
    }

    private static Metric view(String name, String unit, String help, ToDoubleFunction<EngineView> value) {
        return gauge(name, unit, help, link -> value.applyAsDouble(link.view()));
    }

    private static Metric counter(String name, String unit, String help, ToLongFunction<EngineView> value) {
        return count(name, unit, help, List.of(series(Tags.empty(), link -> value.applyAsLong(link.view()))));
    }

    private static Metric reading(String name, String unit, String help, Function<EngineReadings, Reading> value) {
        return view(
                name,
                unit,
                help + ", as the engine reports",
                view -> value.apply(view.readings()).number().orElse(Double.NaN));
    }

    private static Metric tokens(String name, String help, ToLongFunction<Budget> value) {
        return view(name + ".tokens", "tokens", help, view -> value.applyAsLong(view.budget()));
    }

    private static Metric ttft(String name, String unit, String help, Function<TtftEffect, OptionalDouble> value) {
        return view(name, unit, help, view -> value.apply(view.ttft()).orElse(Double.NaN));
    }

    private static Metric computed(String name, String help, Function<TtftEffect.Computed, OptionalDouble> value) {
        return ttft(
                "computed." + name,
                "percent",
                help,
                ttft -> ttft.computed().map(value).orElse(OptionalDouble.empty()));
    }

    private static OptionalDouble end(Optional<Interval> interval, ToDoubleFunction<Interval> end) {
        return interval.stream().mapToDouble(end).findFirst();
    }

    private static double found(EngineLink link, ToDoubleFunction<Evidence> found) {
        Evidence shadows = link.view().byRank().shadows();
        return shadows.of() < 1 ? Double.NaN : found.applyAsDouble(shadows) / shadows.of();
    }

    private static Optional<LimitView> limit(EngineLink link) {
        return link.limit().map(EngineLimit::view);
    }

    private static Metric segment(String name, String help, ToLongFunction<Segment> value) {
        return gauge(
                "kvcached." + name,
                "bytes",
                help,
                link -> limit(link)
                        .flatMap(LimitView::segment)
                        .map(segment -> (double) value.applyAsLong(segment))
                        .orElse(Double.NaN));
    }

    private static Metric moves(String name, String unit, String help, ToLongFunction<LimitView> value) {
        return count(
                "kvcached." + name,
                unit,
                help,
                List.of(series(
                        Tags.empty(),
                        link -> limit(link).map(value::applyAsLong).orElse(0L))));
    }

    /** Returns a counter over the events of all caches of an engine. */
    private static Metric seen(String name, String unit, String help, ToLongFunction<Counters> value) {
        return counter(name, unit, help, view -> value.applyAsLong(view.counters()));
    }

    /** Returns a counter of the engine's subscriptions together. */
    private static Metric wire(String name, String unit, String help, ToLongFunction<Subscription> value) {
        return count(
                "events." + name,
                unit,
                help,
                List.of(series(
                        Tags.empty(),
                        link -> link.subscriptions().stream().mapToLong(value).sum())));
    }

    private static List<Series> guarded(ToLongFunction<GuardState> value) {
        return each("calls", GuardState.Calls.values(), (calls, link) -> value.applyAsLong(link.guard(calls)));
    }

    private static List<Series> refused(String by, ToLongFunction<GuardState> value) {
        return guarded(value).stream()
                .map(one -> new Series(one.labels().and("by", by), one.value()))
                .toList();
    }

    private interface OfConstant<E> {
        double value(E constant, EngineLink link);
    }

    private static <E extends Enum<E>> List<Series> each(String label, E[] constants, OfConstant<E> value) {
        return Arrays.stream(constants)
                .map(constant -> series(label, ApiJson.lower(constant), link -> value.value(constant, link)))
                .toList();
    }

    private static Series series(String label, String labelled, ToDoubleFunction<EngineLink> value) {
        return series(Tags.of(label, labelled), value);
    }

    private static Series ofView(String label, String labelled, ToDoubleFunction<EngineView> value) {
        return series(label, labelled, link -> value.applyAsDouble(link.view()));
    }

    private static Series pins(String state, ToDoubleFunction<PinsView> value) {
        return series("state", state, link -> value.applyAsDouble(link.pins()));
    }

    private static Series series(Tags labels, ToDoubleFunction<EngineLink> value) {
        return new Series(labels, value);
    }
}
