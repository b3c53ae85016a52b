package io.holdfast.core;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.budget.BudgetSettings;
import io.holdfast.core.budget.RequestSizes;
import io.holdfast.core.effect.EffectSettings;
import io.holdfast.core.hold.HoldOrigin;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.pin.EngineIdentity;
import io.holdfast.core.pin.Ledger;
import io.holdfast.core.pin.LedgerLine;
import io.holdfast.core.pin.LedgerStore;
import io.holdfast.core.plan.AutomaticHolds;
import io.holdfast.core.reading.Samples;
import io.holdfast.core.requests.RequestRules;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** A controller with an engine, a disk and a clock that a test moves by hand; {@link #log} has the order of things. */
public final class ControllerHarness {
    public static final long SECOND = 1_000_000_000L;
    public static final ControllerSettings SETTINGS = new ControllerSettings(
            "e",
            new BudgetSettings(0.5, Optional.of(RequestSizes.of(1_000, 100)), "--context-length"),
            AutomaticHolds.OFF,
            Duration.ofSeconds(60),
            ControllerSettings.LEAST_SAVING,
            Duration.ofMillis(100),
            ControllerSettings.OWN_REQUESTS_AN_HOUR,
            Optional.of(EffectSettings.DEFAULTS));

    public final List<String> log = new ArrayList<>();
    public final Disk disk;
    public final Engine engine;
    public final Controller controller;
    public final Deque<Runnable> acting = new ArrayDeque<>();
    /** Acts between rounds, unless a test wants it at once. */
    public Executor actor = acting::add;

    /** Requests of the sidecar's own. */
    public final List<int[]> own = new ArrayList<>();

    public Outcome ownAnswer = new Outcome(Outcome.Kind.ACCEPTED, "answered");
    public long now = 7 * SECOND;
    /** What the engine's clock says in its batches; 0 where it does not tell. */
    public long stampMicros;

    private long sequence;
    private int requests;

    /** What a test lets the ledger's store do. */
    public static final class Disk implements LedgerStore {
        public final List<LedgerLine> lines = new ArrayList<>();
        public List<String> log = new ArrayList<>();
        public boolean broken;

        @Override
        public List<LedgerLine> read() {
            return List.copyOf(lines);
        }

        @Override
        public void append(LedgerLine line) throws IOException {
            if (broken) {
                throw new IOException("disk full");
            }
            lines.add(line);
            if (line instanceof LedgerLine.Entry entry) {
                log.add("write " + entry.step() + " " + entry.lastBlock() + " for " + entry.holdId());
            }
        }

        /** As an earlier life of the test's backend would have written it. */
        public void append(LedgerLine.Step step, long holdId, long lastBlock, int blocks) throws IOException {
            append(new LedgerLine.Entry(
                    step, holdId, HoldOrigin.REQUESTED, "test", Long.toString(lastBlock), lastBlock, blocks, ""));
        }

        @Override
        public void replaceWith(List<LedgerLine> kept) throws IOException {
            if (broken) {
                throw new IOException("disk full");
            }
            lines.clear();
            lines.addAll(kept);
        }

        public List<LedgerLine.Entry> outstanding() throws IOException {
            Disk copy = new Disk();
            copy.lines.addAll(lines);
            return new Ledger(copy).outstanding();
        }
    }

    /** An engine that counts pins as {@code pin_blocks} does, and answers as scripted before it answers truly. */
    public static final class Engine implements Backend {
        public final Map<Long, Integer> pins = new HashMap<>();
        public final Deque<Outcome.Kind> pinAnswers = new ArrayDeque<>();
        public final Deque<Outcome.Kind> unpinAnswers = new ArrayDeque<>();
        public final Deque<Outcome.Kind> renewAnswers = new ArrayDeque<>();
        public List<String> log = new ArrayList<>();
        public Capabilities capabilities = new Capabilities(true, "test");
        public BackendTraits traits = BackendTraits.hard().needing(Need.INSERTION_END, Need.UNAMBIGUOUS_HASH);
        public Optional<String> hindrance = Optional.empty();
        public int probes;
        /** While set, calls wait in {@link #unanswered}, and the seventeenth at once is turned away. */
        public boolean late;

        public final Deque<Runnable> unanswered = new ArrayDeque<>();
        public int mostUnderWay;
        /** In how many caches each pin was to be made. */
        public final List<Integer> caches = new ArrayList<>();
        /** In how many caches a pin was made that is answered as clipped; 0 for none. */
        public int clippedIn;
        /** What is refused is refused for now. */
        public boolean forNow;

        @Override
        public String name() {
            return "test";
        }

        @Override
        public BackendTraits traits() {
            return traits;
        }

        @Override
        public Optional<String> hindrance() {
            return hindrance;
        }

        @Override
        public String handle(PinCommand command) {
            return Long.toString(command.lastBlock());
        }

        @Override
        public CompletionStage<Capabilities> probe() {
            probes++;
            return CompletableFuture.completedFuture(capabilities);
        }

        @Override
        public CompletionStage<Outcome> pin(PinCommand command) {
            if (unanswered.size() >= 16) {
                return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.NOT_SENT, "too many calls"));
            }
            log.add("pin " + command.lastBlock());
            caches.add(command.caches());
            Outcome.Kind kind = pinAnswers.isEmpty() ? Outcome.Kind.ACCEPTED : pinAnswers.remove();
            // A deferred pin is the worse case: it was done.
            boolean clipped = kind == Outcome.Kind.CLIPPED && clippedIn > 0;
            if (kind == Outcome.Kind.ACCEPTED || kind == Outcome.Kind.DEFERRED || clipped) {
                pins.merge(command.lastBlock(), 1, Integer::sum);
            }
            return answer(
                    forNow && kind == Outcome.Kind.REJECTED
                            ? Outcome.refusedForNow("pin " + kind)
                            : new Outcome(kind, "pin " + kind, clipped ? clippedIn : 0));
        }

        @Override
        public CompletionStage<Outcome> renew(PinCommand command) {
            log.add("renew " + command.lastBlock());
            Outcome.Kind kind = renewAnswers.isEmpty() ? Outcome.Kind.ACCEPTED : renewAnswers.remove();
            return answer(
                    forNow && kind == Outcome.Kind.REJECTED
                            ? Outcome.refusedForNow("renew " + kind)
                            : new Outcome(kind, "renew " + kind));
        }

        @Override
        public CompletionStage<Outcome> unpin(List<String> handles) {
            if (unanswered.size() >= 16) {
                return CompletableFuture.completedFuture(new Outcome(Outcome.Kind.NOT_SENT, "too many calls"));
            }
            log.add("unpin " + String.join(" ", handles));
            if (!unpinAnswers.isEmpty()) {
                Outcome.Kind kind = unpinAnswers.remove();
                return CompletableFuture.completedFuture(new Outcome(kind, "unpin " + kind));
            }
            int there = 0;
            for (String handle : handles) {
                long block = Long.parseLong(handle);
                there += pins.containsKey(block) ? 1 : 0;
                pins.computeIfPresent(block, (key, count) -> count == 1 ? null : count - 1);
            }
            Outcome.Kind kind = there == handles.size()
                    ? Outcome.Kind.ACCEPTED
                    : there == 0 ? Outcome.Kind.MISSING : Outcome.Kind.CLIPPED;
            return answer(new Outcome(kind, "unpinned"));
        }

        private CompletionStage<Outcome> answer(Outcome outcome) {
            CompletableFuture<Outcome> answer = new CompletableFuture<>();
            if (late) {
                unanswered.add(() -> answer.complete(outcome));
                mostUnderWay = Math.max(mostUnderWay, unanswered.size());
            } else {
                answer.complete(outcome);
            }
            return answer;
        }
    }

    public ControllerHarness(ControllerSettings settings, Disk disk, Engine engine) {
        this.disk = disk;
        this.engine = engine;
        disk.log = log;
        engine.log = log;
        try {
            controller = new Controller(
                    settings,
                    RequestRules.sglang(),
                    new Backends(engine, List.of(), Optional.of(this::sent)),
                    new Ledger(disk),
                    task -> actor.execute(task),
                    new SplittableRandom(1));
            controller.engineIs(EngineIdentity.VOUCHED_FOR);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private CompletionStage<Outcome> sent(int[] tokens) {
        own.add(tokens);
        return CompletableFuture.completedFuture(ownAnswer);
    }

    /** A bench whose engine is probed and idle, with 10000 tokens in blocks of 16. */
    public static ControllerHarness ready(ControllerSettings settings) {
        ControllerHarness harness = new ControllerHarness(settings, new Disk(), new Engine());
        harness.controller.hasToken(1_000_000);
        harness.idle();
        harness.settle();
        return harness;
    }

    public static ControllerHarness ready() {
        return ready(SETTINGS);
    }

    /** Fresh readings of an engine in which nothing runs. */
    public void idle() {
        readings(0, 0);
    }

    /** The engine served a request, and then rested with so many tokens taken. */
    public void served(int usedTokens) {
        for (int i = 0; i < 2; i++) {
            now += SECOND;
            controller.readings(Samples.readings(10_000, 16, 9_000, 0, 0, usedTokens, 0, ++requests, now));
            settle();
        }
    }

    /** Another process of the engine answers from now on, which counts from 0. */
    public void anotherProcess() {
        requests = 0;
    }

    public void readings(int running, int waiting) {
        controller.readings(Samples.ofRanks(
                Samples.readings(10_000, 16, 9_000, running, waiting, 0, 0, 0, now), engine.capabilities.caches()));
    }

    /** Polls and acts until nothing is left to do. */
    public void settle() {
        int work;
        do {
            work = controller.poll(now);
            while (!acting.isEmpty()) {
                acting.remove().run();
                work++;
            }
        } while (work > 0);
    }

    /** Lets time pass with fresh readings of an idle engine, then settles. */
    public void pass(Duration time) {
        now += time.toNanos();
        idle();
        settle();
    }

    public void stored(long... blocks) {
        batch(() -> controller.events().stored(chain(blocks)));
    }

    public void storedUnder(long parent, long... blocks) {
        batch(() -> controller.events().stored(chain(blocks).under(parent)));
    }

    public void removed(long... blocks) {
        batch(() -> controller.events().removed(blocks, 0, blocks.length, Tier.GPU, 0));
    }

    public void cleared() {
        batch(() -> controller.events().cleared());
    }

    public void batch(Runnable events) {
        controller.events().batchStarted(sequence++, stampMicros);
        events.run();
        controller.events().batchEnded();
    }

    public CompletableFuture<HoldView> ask(long... path) {
        return ask(Duration.ofSeconds(60), path);
    }

    public CompletableFuture<HoldView> ask(Duration lease, long... path) {
        return controller.request(new HoldRequest(path, lease)).toCompletableFuture();
    }

    /** Asks for a hold, settles, and answers what became of it. */
    public HoldView hold(long... path) {
        return hold(Duration.ofSeconds(60), path);
    }

    public HoldView hold(Duration lease, long... path) {
        CompletableFuture<HoldView> answer = ask(lease, path);
        settle();
        return answer.join();
    }

    public HoldView holdNow(long id) {
        return controller.view().holds().stream()
                .filter(hold -> hold.id() == id)
                .findFirst()
                .orElseThrow();
    }

    public List<String> takeLog() {
        List<String> taken = List.copyOf(log);
        log.clear();
        return taken;
    }

    public static StoredBlocks chain(long... blocks) {
        StoredBlocks chain = new StoredBlocks().reset().blockTokens(16);
        for (long block : blocks) {
            chain.add(block);
        }
        return chain;
    }
}
