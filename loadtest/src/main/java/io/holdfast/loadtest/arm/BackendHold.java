package io.holdfast.loadtest.arm;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.EngineFacts;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.ReleaseReceipt;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.HoldRoutes.Way;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Holds by one of the sidecar's ways, so that what is measured is what a sidecar would do.
 *
 * <p>Both arms pin and unpin in the hold step, and unpin at the end of the leg. They differ in a name: the arm that
 * holds through the load unpins what never was in the hold step, the other one what it just pinned. A way whose pins
 * only run out has no unpin. There the arm without a hold sends the prefix without the wish to keep it, and both wait at
 * the end of a leg until no pin can be left.
 *
 * <p>A pin is not renewed, since a renewal uses the prefix as well and would keep it in the other arm too. So a leg that
 * is longer than a pin lasts is refused.
 */
final class BackendHold implements ArmSwitch {
    private static final Logger LOG = LoggerFactory.getLogger(BackendHold.class);
    private static final Duration CALL_LIMIT = Duration.ofMinutes(2);
    /** Time after which a pin that ran out is gone from the engine for sure. */
    private static final Duration LAPSE = Duration.ofSeconds(1);

    private static final int PIN_TRIES = 3;
    private static final long HOLD = 1;

    private final EngineUnderTest engine;
    private final RunClock clock;
    private final List<Way> ways;
    private final Subject subject;
    private final List<String> pinned = new ArrayList<>();
    private final List<RequestRecord> sent = new ArrayList<>();
    private Optional<Backend> found = Optional.empty();
    /** Start of the first pin of the leg, from which the engine may count its time. */
    private long firstPinAt;
    /** End of the last pin of the leg, from which it may count as well. */
    private long lastPinAt;

    private long attempts;
    private int page = 1;

    /** Subject of the pins. */
    sealed interface Subject {
        /** The prefix that is probed: a pinned leg keeps it. */
        record Prefix() implements Subject {}

        /**
         * Contexts that nobody asks for again, as those of agents that are done: a pinned leg gives them back before
         * the load, a baseline leg at its end.
         */
        record Finished(ArmPlan.Release plan) implements Subject {}
    }

    /**
     * Prepares nothing and holds nothing yet.
     *
     * @param ways of which the first is taken that the engine has
     */
    BackendHold(EngineUnderTest engine, RunClock clock, List<Way> ways, Subject subject) {
        this.engine = engine;
        this.clock = clock;
        this.ways = List.copyOf(ways);
        this.subject = subject;
    }

    @Override
    public String name() {
        String way = found.map(Backend::name).orElse("one of the sidecar's ways");
        return switch (subject) {
            case Subject.Prefix _ -> "a hold by " + way;
            case Subject.Finished _ -> "a finished context, held by " + way + " and given back before the floods";
        };
    }

    @Override
    public boolean claimsHold() {
        return true;
    }

    @Override
    public void prepare() {
        if (engine.facts().family() == EngineFacts.Family.TENSORRT_LLM) {
            // Asking it would take from others what its pages remove.
            throw new LoadTestException("A TensorRT-LLM engine has none of these ways to hold; use --hold keep-warm.");
        }
        List<String> reasons = new ArrayList<>();
        found = Optional.empty();
        for (Way way : ways) {
            Backend backend = engine.holdRoutes().way(way);
            Capabilities can = answer(backend.probe());
            if (can.canPin()) {
                found = Optional.of(backend);
                break;
            }
            reasons.add(backend.name() + ": " + can.why());
        }
        if (found.isEmpty()) {
            throw new LoadTestException("The engine cannot hold. " + String.join(" ", reasons));
        }
        page = engine.facts().pageTokensOrUsual();
    }

    private Backend backend() {
        return found.orElseThrow(() -> new IllegalStateException("The arm is not prepared."));
    }

    private BackendTraits traits() {
        return backend().traits();
    }

    @Override
    public Duration legsTake(Duration about) {
        Duration lasts = traits().endsAfter();
        if (traits().endsInTime() && about.compareTo(lasts) > 0) {
            throw new LoadTestException("A leg takes about " + about.toSeconds() + " s, and a pin by "
                    + backend().name() + " lasts " + lasts.toSeconds()
                    + " s: write fewer --cycles or a smaller flood"
                    + (traits().onlyRunsOut() ? ", or start the engine with a longer lease." : "."));
        }
        return traits().onlyRunsOut() ? lasts.plus(LAPSE) : about;
    }

    @Override
    public Optional<String> afterAKill() {
        return Optional.of(
                traits().endsInTime()
                        ? "What a kill -9 leaves pinned ends within "
                                + traits().endsAfter().toSeconds() + " s."
                        : "What a kill -9 leaves pinned stays until the cache is emptied, as a resumed run does"
                                + " first.");
    }

    @Override
    public HoldReceipt on(Prefixes prefixes, Duration within) {
        Held held = hold(prefixes, subject instanceof Subject.Prefix);
        return held.problem()
                .map(why -> HoldReceipt.notHeld("", held.wanted(), why))
                .orElseGet(() -> HoldReceipt.held(
                        String.join(" ", pinned),
                        held.wanted(),
                        held.wanted(),
                        (long) held.wanted() * page,
                        held.text()));
    }

    @Override
    public HoldReceipt off(Prefixes prefixes, Duration within) {
        Held held = hold(prefixes, subject instanceof Subject.Finished);
        return held.problem().map(HoldReceipt::skipped).orElseGet(() -> HoldReceipt.sham(held.text()));
    }

    /**
     * Outcome of a hold step.
     *
     * @param wanted blocks that were to be pinned
     */
    private record Held(int wanted, String text, Optional<String> problem) {}

    /** @param through whether the pins stay through the load */
    private Held hold(Prefixes prefixes, boolean through) {
        // One that an earlier leg could not unpin takes cache from this one.
        Optional<String> problem = pinned.isEmpty() ? Optional.empty() : letGo();
        List<int[]> texts = texts(prefixes);
        int blocks = texts.stream().mapToInt(text -> text.length / page).sum();
        if (problem.isEmpty() && subject instanceof Subject.Finished) {
            // Who is done has used its context before, and some ways hold only what is in the cache.
            problem = texts.stream()
                    .map(text -> send(new LoadRequest(Role.PRIME, 0, text, 1)))
                    .flatMap(Optional::stream)
                    .findFirst();
        }
        firstPinAt = clock.nanos();
        if (problem.isEmpty()) {
            problem = through || traits().releasable() ? pin(texts) : send(prefixes.probed());
        }
        lastPinAt = clock.nanos();
        if (problem.isEmpty() && traits().releasable()) {
            problem = unpin(through ? neverMade(texts.size()) : List.copyOf(pinned));
        }
        if (problem.isEmpty() && subject instanceof Subject.Finished) {
            // What was held came after the prefix, which has to be what was used last.
            problem = send(prefixes.probed());
        }
        String text = (through ? "held through the load: " : "not held through the load: ") + blocks + " blocks of "
                + texts.size() + (texts.size() == 1 ? " text" : " texts");
        return new Held(blocks, text, problem);
    }

    /** Texts to be pinned, each as long as the prefix. */
    private List<int[]> texts(Prefixes prefixes) {
        return switch (subject) {
            case Subject.Prefix _ -> List.of(prefixes.probed().tokens());
            case Subject.Finished its -> {
                int[] one = prefixes.unprobed().tokens();
                long count = Math.max(1, Math.round((double) finishedTokens(its) / one.length));
                yield IntStream.range(0, (int) Math.min(count, one.length))
                        .mapToObj(by -> turned(one, by))
                        .toList();
            }
        };
    }

    private long finishedTokens(Subject.Finished its) {
        return its.plan()
                .held(engine.facts().capacityTokens())
                .orElseThrow(() -> new LoadTestException("The engine does not tell how large its cache is; write how"
                        + " much of it a finished context takes, by --held-tokens."));
    }

    /** Returns a text of the same tokens that shares no block with the others. */
    private static int[] turned(int[] tokens, int by) {
        int[] turned = Arrays.copyOf(tokens, tokens.length);
        for (int i = 0; i < turned.length; i++) {
            turned[i] = tokens[(i + by) % tokens.length];
        }
        return turned;
    }

    private Optional<String> pin(List<int[]> texts) {
        return texts.stream().map(this::pin).flatMap(Optional::stream).findFirst();
    }

    /**
     * Tries again where nobody knows what became of a pin, as where the engine closed an idle connection meanwhile; all
     * that may be pinned is unpinned at the end.
     */
    private Optional<String> pin(int[] text) {
        Outcome outcome;
        int tries = PIN_TRIES;
        do {
            PinCommand command = command(text);
            pinned.add(backend().handle(command));
            long began = clock.nanos();
            outcome = answer(backend().pin(command));
            if (outcome.kind() == Kind.ACCEPTED) {
                sent.add(asRequest(command, began, outcome));
                return Optional.empty();
            }
        } while (outcome.kind() == Kind.DEFERRED && --tries > 0);
        return Optional.of(outcome.reason());
    }

    /** A pin is a request for one token after the whole blocks of a text and one token more. */
    private RequestRecord asRequest(PinCommand command, long began, Outcome outcome) {
        OptionalLong cached = outcome.cachedTokens();
        return new RequestRecord(
                sent.size(),
                Role.TOUCH,
                0,
                RequestStatus.OK,
                began,
                began,
                OptionalLong.empty(),
                OptionalLong.empty(),
                OptionalLong.empty(),
                clock.nanos(),
                OptionalInt.of(command.prefix().tokenCount() + 1),
                OptionalInt.of(1),
                cached.isPresent() ? OptionalInt.of(Math.toIntExact(cached.getAsLong())) : OptionalInt.empty(),
                "");
    }

    private Optional<String> send(LoadRequest request) {
        RequestRecord record = engine.ask(request);
        sent.add(record);
        return record.isOk() ? Optional.empty() : Optional.of(record.problem());
    }

    private PinCommand command(int[] text) {
        int blocks = Math.max(1, text.length / page);
        int[] tokens = Arrays.copyOf(text, Math.min(text.length, blocks * page));
        // These ways go by tokens and need no names of blocks.
        return new PinCommand(HOLD, ++attempts, new HoldRequest(new long[blocks], tokens, CALL_LIMIT), blocks);
    }

    private List<String> neverMade(int count) {
        return IntStream.range(0, count)
                .mapToObj(i -> backend().handle(command(new int[page])))
                .toList();
    }

    /** Unpins all that it can, and returns the first reason why one may still be pinned. */
    private Optional<String> unpin(List<String> handles) {
        List<String> problems = new ArrayList<>();
        for (String handle : handles) {
            Outcome outcome = answer(backend().unpin(List.of(handle)));
            switch (outcome.kind()) {
                case ACCEPTED, MISSING, CLIPPED -> pinned.remove(handle);
                case DEFERRED, REJECTED, NOT_SENT -> problems.add(outcome.reason());
            }
        }
        return problems.stream().findFirst();
    }

    /** Unpins whatever may be pinned, or what never was, or waits until it has run out where no call takes it back. */
    private Optional<String> letGo() {
        if (traits().onlyRunsOut()) {
            clock.sleepUntil(lastPinAt + traits().endsAfter().plus(LAPSE).toNanos());
            pinned.clear();
            return Optional.empty();
        }
        return unpin(pinned.isEmpty() ? neverMade(1) : List.copyOf(pinned));
    }

    @Override
    public ReleaseReceipt release(HoldReceipt step) {
        boolean sham = step.kind() == HoldReceipt.Kind.SHAM;
        Duration lasts = traits().endsAfter();
        boolean ranOut = traits().endsInTime() && clock.nanos() - firstPinAt > lasts.toNanos();
        Optional<String> problem = letGo();
        if (ranOut && sham == subject instanceof Subject.Finished) {
            return ReleaseReceipt.lost("the leg took longer than the " + lasts.toSeconds() + " s that a pin lasts");
        }
        String said = traits().onlyRunsOut() ? "its time was waited out" : "the engine was told";
        return problem.map(ReleaseReceipt::unanswered)
                .orElseGet(() -> sham ? ReleaseReceipt.sham(said) : ReleaseReceipt.released(said));
    }

    @Override
    public List<RequestRecord> sent() {
        List<RequestRecord> since = List.copyOf(sent);
        sent.clear();
        return since;
    }

    @Override
    public void close() {
        if (found.filter(its -> its.traits().releasable()).isPresent()) {
            unpin(List.copyOf(pinned)).ifPresent(why -> LOG.warn("{} could not be unpinned: {}", pinned, why));
        }
        pinned.clear();
    }

    /** Waits for an answer, which a way gives to whatever an engine or a network does. */
    private static <T> T answer(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(CALL_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new LoadTestException("The load test was interrupted in a call of its arm.", e);
        } catch (TimeoutException e) {
            throw new LoadTestException(
                    "A call of the arm was not answered within " + CALL_LIMIT.toSeconds()
                            + " s; check that the engine still answers.",
                    e);
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
