package io.holdfast.sidecar.look;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.PrefixReport;
import io.holdfast.core.Traffic;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.budget.Budget;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.head.UnstableHead;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.FrameListener;
import io.holdfast.http.DetokenizeRoute;
import io.holdfast.kvcached.SegmentReader;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EngineContact;
import io.holdfast.sidecar.engine.EngineFamily;
import io.holdfast.sidecar.engine.EngineFamily.Events;
import io.holdfast.sidecar.engine.EngineProbe;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.engine.EventSubscriptions;
import io.holdfast.sidecar.engine.EventThread;
import io.holdfast.sidecar.engine.HeadTexts;
import io.holdfast.sidecar.engine.Levers;
import io.holdfast.sidecar.look.Observation.Holding;
import io.holdfast.sidecar.look.Observation.Prefill;
import io.holdfast.sidecar.look.Observation.Readings;
import io.holdfast.sidecar.look.Observation.Requests;
import io.holdfast.sidecar.look.Observation.SharedPrefix;
import io.holdfast.sidecar.look.Observation.Sharing;
import io.holdfast.sidecar.view.Conditions;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/**
 * Watches one engine as the sidecar would, with the same controller in a dry run, and sends it nothing but questions.
 */
public final class Observer implements AutoCloseable {
    private static final int POLL_MILLIS = 50;
    /** Often, since what a request took is known where few requests fall between two readings. */
    private static final int READING_MILLIS = 200;

    private static final int CONNECT_SECONDS = 5;
    private static final int ANSWER_SECONDS = 10;
    private static final int MOST_PREFIXES = 100;
    private static final int MOST_HEADS = 5;
    private static final String KEEP_WARM = "keep_warm";

    private final EngineContact contact;
    private final Optional<FrameRecorder> recorder;
    private final HeadTexts texts;
    private final String name;
    private final EngineProbe probe;
    private final Controller controller;
    private final EventThread thread;
    private final EventSubscriptions events;
    private final Levers levers;
    private final long beganNanos;
    private final AtomicBoolean asking = new AtomicBoolean();
    /** The first readings of an engine that answers. */
    private final AtomicReference<Optional<EngineReadings>> first = new AtomicReference<>(Optional.empty());

    /** A dry run pins nothing, so there is nothing to remember. */
    private static final class NoLedger implements LedgerStore {
        @Override
        public List<LedgerLine> read() {
            return List.of();
        }

        @Override
        public void append(LedgerLine line) {}

        @Override
        public void replaceWith(List<LedgerLine> lines) {}
    }

    private Observer(EngineContact contact, Optional<FrameRecorder> recorder, RandomGenerator random)
            throws IOException {
        this.contact = contact;
        this.recorder = recorder;
        this.texts = new HeadTexts(new DetokenizeRoute(contact.http()));
        this.name = Mends.of(contact.type()).family()
                + contact.version().map(text -> " " + text).orElse("")
                + contact.model().map(text -> ", " + text).orElse("") + " at "
                + contact.target().url();
        EngineConfig config = contact.config();
        this.probe = new EngineProbe(config, contact.http(), System::nanoTime);
        this.controller = new Controller(
                config.controllerSettings(),
                EngineFamily.of(config.type()).requestRules(),
                Backends.only(new DryRunBackend()),
                new Ledger(new NoLedger()),
                contact.executor(),
                random);
        controller.watchHeads();
        this.thread = new EventThread(
                System::nanoTime,
                POLL_MILLIS,
                recorder.<FrameListener>map(to -> to).orElse(FrameListener.NONE));
        this.events = new EventSubscriptions(config.id(), probe, controller, thread, sink -> sink);
        this.levers = Levers.of(contact);
        this.beganNanos = System.nanoTime();
    }

    /**
     * Begins to watch an engine.
     *
     * @param recorder takes what comes, for later; absent: nothing is kept
     * @throws ConfigException when it is named in a way that cannot be
     * @throws SidecarException with one sentence, when nothing answers, what answers is no engine, or it publishes nothing
     */
    public static Observer open(EngineTarget target, Optional<FrameRecorder> recorder, RandomGenerator random) {
        EngineContact contact = EngineContact.open(target);
        try {
            // Without it an SGLang does not say where it publishes.
            contact.requireKeyFor(EngineContact.INFO);
            Observer observer = new Observer(contact, recorder, random);
            observer.begin();
            return observer;
        } catch (IOException e) {
            contact.close();
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        } catch (RuntimeException e) {
            contact.close();
            throw e;
        }
    }

    private void begin() {
        if (probe.eventSource().toCompletableFuture().join() instanceof Events.Unknown unknown) {
            thread.close();
            throw new SidecarException(unknown.why());
        }
        recorder.ifPresent(file -> file.begins(
                contact.target().url(),
                contact.type().name().toLowerCase(Locale.ROOT),
                contact.version().orElse("")));
        thread.drive(controller, why -> {});
        thread.start();
        events.ask();
        awaitEvents();
        Future<?> _ = contact.timer().scheduleWithFixedDelay(this::ask, 0, READING_MILLIS, TimeUnit.MILLISECONDS);
    }

    /** Until they are listened to and the past is known, where it can be asked for; not for long. */
    private void awaitEvents() {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(CONNECT_SECONDS);
        while (!heard() && System.nanoTime() - end < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS));
        }
    }

    private boolean heard() {
        return events.trouble().isEmpty()
                && events.subscriptions().stream()
                        .allMatch(each -> each.replayEndpoint().isEmpty()
                                || each.failedReplays() > 0
                                || (each.replays() > 0 && !each.recovering()));
    }

    private void ask() {
        events.ask();
        if (!asking.compareAndSet(false, true)) {
            return;
        }
        probe.read().whenComplete((readings, fault) -> {
            asking.set(false);
            if (fault == null) {
                controller.readings(readings);
                events.answers(readings.runningRequests().number().isPresent());
                remember(readings);
                recorder.ifPresent(file -> file.readings(readings));
            }
        });
    }

    private void remember(EngineReadings readings) {
        // On the same page counters are missing only before they counted anything.
        first.updateAndGet(before -> before.or(() -> Optional.of(readings)
                .filter(read -> read.runningRequests().number().isPresent())));
    }

    /** Returns figures so far, without a token of any prompt; waits for the thread that applies the events. */
    public Observation look() {
        return look(UnstableHead::withoutExample);
    }

    /** Returns them with two requests of each finding, as texts where the engine's tokenizer gives them. */
    public Observation lookWithExamples() {
        return look(texts::of);
    }

    private Observation look(UnaryOperator<UnstableHead> shown) {
        String fault = thread.fault(controller);
        if (!fault.isEmpty()) {
            throw new IllegalStateException(fault);
        }
        // In this order, so that nothing of which one tells is missing in what is asked for after it.
        EngineView view = controller.view();
        try {
            List<PrefixReport> prefixes = answer(controller.prefixes());
            List<UnstableHead> heads = answer(controller.heads());
            Traffic traffic = answer(controller.traffic());
            return look(
                    view,
                    traffic,
                    prefixes,
                    heads.stream()
                            .limit(MOST_HEADS)
                            .map(each ->
                                    shown.apply(each).costing(traffic.prefill().seconds((double) each.againTokens())))
                            .toList());
        } catch (CompletionException e) {
            throw new IllegalStateException("The thread that applies the events gave no answer.", e);
        }
    }

    private static <T> T answer(CompletionStage<T> asked) {
        return asked.toCompletableFuture()
                .orTimeout(ANSWER_SECONDS, TimeUnit.SECONDS)
                .join();
    }

    private Observation look(EngineView view, Traffic traffic, List<PrefixReport> all, List<UnstableHead> heads) {
        EngineReadings now = view.readings();
        PrefillCost cost = traffic.prefill();
        double block = now.blockTokens().number().orElse(0);
        long again = Math.round(view.sharing().recomputedBlocks() * block);
        return new Observation(
                name,
                elapsed(),
                traffic.span(),
                events.trouble().orElse("connected"),
                view.certain(),
                view.certainty(),
                new Readings(
                        now.runningRequests().number(),
                        now.waitingRequests().number(),
                        now.usedTokens().number(),
                        now.capacityTokens().number(),
                        cachedShare(now)),
                new Requests(
                        view.counters().batches(),
                        view.counters().visibleRequests(),
                        traffic.counted(),
                        view.invisibleShare().number()),
                traffic.residence().median(),
                traffic.residence().count(),
                traffic.reuse().median(),
                traffic.reuse().ninetieth(),
                traffic.rho(),
                prefill(cost),
                new Sharing(view.sharing().found(), view.sharing().lost(), again, cost.seconds((double) again)),
                all.stream()
                        .limit(MOST_PREFIXES)
                        .map(each -> shared(each, block, cost))
                        .toList(),
                new Observation.AtOnce(
                        traffic.demand().prompts(),
                        traffic.demand().sharedOnce(),
                        traffic.demand().eachInFull()),
                new Observation.Lengths(
                        traffic.lengths().prompts(),
                        traffic.lengths().median(),
                        traffic.lengths().ninetieth()),
                Conditions.of(traffic, now.capacityTokens().number(), segments()),
                heads,
                holding(all, view.budget(), traffic, block, cost.seconds((double) again)));
    }

    /** Returns the number of kvcached segments on this machine, where the engine is on it. */
    private OptionalInt segments() {
        return contact.config().onThisHost()
                ? OptionalInt.of(SegmentReader.find(SegmentReader.directory()).size())
                : OptionalInt.empty();
    }

    private Duration elapsed() {
        return Duration.ofNanos(System.nanoTime() - beganNanos);
    }

    private static Prefill prefill(PrefillCost cost) {
        return switch (cost) {
            case PrefillCost.Known known ->
                new Prefill(
                        OptionalDouble.of(known.fixedSeconds()),
                        OptionalDouble.of(known.secondsPerToken()),
                        known.samples(),
                        Optional.empty());
            case PrefillCost.Unknown unknown ->
                new Prefill(
                        OptionalDouble.empty(), OptionalDouble.empty(), unknown.samples(), Optional.of(unknown.why()));
        };
    }

    private static SharedPrefix shared(PrefixReport report, double block, PrefillCost cost) {
        long again = Math.round(report.prefix().lostBlocks() * block);
        return new SharedPrefix(
                Long.toHexString(report.prefix().lastBlock()),
                report.tokens(),
                report.prefix().ways(),
                report.cached(),
                report.prefix().requests(),
                report.prefix().hits(),
                report.prefix().losses(),
                again,
                cost.seconds((double) again),
                report.prefix().worthHolding(),
                report.why());
    }

    /** Counts only prefixes from which none goes on, since a request of nested prefixes keeps all of them. */
    private Holding holding(List<PrefixReport> all, Budget budget, Traffic traffic, double block, OptionalDouble lost) {
        List<PrefixReport> worth =
                all.stream().filter(each -> each.prefix().worthHolding()).toList();
        int longest = (int) worth.stream()
                .filter(each -> worth.stream()
                        .noneMatch(other -> other.prefix().above().isPresent()
                                && other.prefix().above().getAsLong()
                                        == each.prefix().lastBlock()))
                .count();
        OptionalDouble spent = OptionalDouble.empty();
        if (levers.chosen().equals(KEEP_WARM)
                && traffic.residence().median().isPresent()
                && traffic.prefill() instanceof PrefillCost.Known cost) {
            // Twice within the time that a block stays, each time with one block to compute.
            double touches = 2.0
                    * Math.max(elapsed().toNanos(), traffic.span().toNanos())
                    / Math.max(1, traffic.residence().median().get().toNanos());
            spent = OptionalDouble.of(longest * touches * (cost.fixedSeconds() + cost.secondsPerToken() * block));
        }
        return new Holding(
                levers.chosen(),
                levers.best()
                        .map(Levers.Lever::why)
                        .orElse("Nothing that this version can hold with works on this engine as it runs; holdfast"
                                + " doctor says what is missing."),
                worth.size(),
                worth.isEmpty() ? OptionalDouble.empty() : lost,
                spent,
                !worth.isEmpty()
                                && budget.automaticUnknown().isEmpty()
                                && worth.stream().allMatch(each -> each.tokens() > budget.automaticTokens())
                        ? Optional.of(budget.automaticWhy())
                        : Optional.empty());
    }

    private OptionalDouble cachedShare(EngineReadings now) {
        OptionalDouble prompt = grown(now, EngineReadings::promptTokens);
        OptionalDouble cached = grown(now, EngineReadings::cachedTokens);
        return prompt.orElse(0) > 0 && cached.isPresent()
                ? OptionalDouble.of(cached.getAsDouble() / prompt.getAsDouble())
                : OptionalDouble.empty();
    }

    private OptionalDouble grown(EngineReadings now, Function<EngineReadings, Reading> counter) {
        OptionalDouble last = counter.apply(now).number();
        if (last.isEmpty()) {
            return last;
        }
        double before = first.get()
                .map(counter)
                .map(reading -> reading.number().orElse(0))
                .orElse(0.0);
        // Fewer than before are those of another process.
        return OptionalDouble.of(last.getAsDouble() < before ? last.getAsDouble() : last.getAsDouble() - before);
    }

    @Override
    public void close() {
        thread.close();
        contact.close();
        recorder.ifPresent(FrameRecorder::close);
    }
}
