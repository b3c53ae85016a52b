package io.holdfast.lmcache;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.Reply;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** Holds prefixes in the storage that LMCache shares between engines, by pins at its coordinator; unproven. */
public final class LmcacheBackend implements Backend {
    /*
     * Unproven: it follows the coordinator's documentation, and was tried against a stand-in only.
     *
     * What is pinned is the copy in LMCache's shared storage (its L2), for all engines of a fleet: the coordinator leaves it
     * out when it evicts. The engine's own cache is another matter: it evicts what it likes, and the next use loads from the
     * storage. So nothing of it counts in the engine, and the engine's events and restarts say nothing of it.
     *
     * Keys are counted: each pin of a chunk takes an unpin, whoever pinned it, and an unpin too many takes the pin of somebody
     * else and is answered with the same yes. The sidecars of a fleet pin the same prefixes at one coordinator, so its counts do
     * not tell whether a pin of ours is there. Its marker does (PinHandle): an unpin looks for that first. So whatever is not
     * known of a pin, whether it was made, or taken back by a call that had no clear answer or by a process that was killed, is
     * settled by asking again as soon as no earlier call can arrive any more.
     *
     * A pin that was made in part has no marker. It is taken back once, at once, and just that part.
     *
     * The coordinator finds the keys by itself, by tokens, model and world size, and pins them whether they are stored or not.
     * Where these are not those of LMCache in the engine, it says yes and protects nothing. Nor does it tell of a pin that it
     * has lost. What can be asked is how many pins of the model it has: where there are none, ours are gone.
     */

    /** What configuration and ledger call it. */
    public static final String NAME = "lmcache";

    public static final BackendTraits TRAITS = BackendTraits.soft()
            .needing(Need.TOKENS)
            .byCall()
            .lookingFirst()
            .outsideTheEngine()
            .askedAfterEvery(Duration.ofSeconds(30))
            .namedOnly();
    private static final String MODELS = "/v1/models";
    private static final long ASK_AGAIN_MILLIS = 500;
    /** Tokens below this are in any vocabulary. */
    private static final int SMALL_VOCABULARY = 0x7fff;

    private static final String NOWHERE = "Where the LMCache coordinator is is not known: write lmcache: {url:"
            + " http://HOST:9300} for this engine.";

    private final Optional<Coordinator> coordinator;
    private final EngineHttp engine;
    private final Supplier<CompletionStage<Integer>> caches;
    private final int worldSize;
    private final ScheduledExecutorService timer;
    private final Optional<String> written;
    /** What the markers of this process begin with. */
    private final int[] own;
    /** What there is to take back of pins that were made in part. */
    private final Map<String, PinHandle> parts = new ConcurrentHashMap<>();
    /** As it was written, or as the engine told it first: what is pinned is found again by no other. */
    private volatile Optional<String> model;
    /** In a chunk; 0 before the coordinator told. */
    private volatile int chunkTokens;

    /**
     * Beside one engine.
     *
     * @param coordinator absent where the configuration names none
     * @param model as LMCache names it; absent: asked of the engine
     * @param worldSize of the engine's tensor parallelism
     * @param caches how many caches the engine has
     * @param timer paces the probes of what does not answer; once it is shut down, silence is taken for a no
     * @param random tells the pins of this process from those of any other
     */
    public LmcacheBackend(
            Optional<EngineHttp> coordinator,
            Optional<String> model,
            int worldSize,
            EngineHttp engine,
            Supplier<CompletionStage<Integer>> caches,
            ScheduledExecutorService timer,
            RandomGenerator random) {
        this.coordinator = coordinator.map(Coordinator::new);
        this.written = model;
        this.model = model;
        this.worldSize = worldSize;
        this.engine = engine;
        this.caches = caches;
        this.timer = timer;
        this.own = random.ints(PinHandle.OWN_TOKENS, 1, SMALL_VOCABULARY).toArray();
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public BackendTraits traits() {
        return TRAITS;
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        if (coordinator.isEmpty()) {
            return CompletableFuture.completedFuture(new Capabilities(false, NOWHERE));
        }
        CompletableFuture<Capabilities> answer = new CompletableFuture<>();
        probe(coordinator.get(), answer);
        return answer;
    }

    private void probe(Coordinator at, CompletableFuture<Capabilities> answer) {
        CompletionStage<Void> unused = written.isPresent()
                ? probe(at, written.get(), answer)
                : engine.get(MODELS).thenCompose(reply -> {
                    Optional<String> found = served(reply);
                    if (found.isPresent()) {
                        model = model.or(() -> found);
                        if (model.equals(found)) {
                            return probe(at, found.get(), answer);
                        }
                        answer.complete(new Capabilities(
                                false,
                                "The engine serves " + found.get() + " now, and served " + model.orElseThrow()
                                        + " before: what is pinned of that stays its, so start the sidecar again to"
                                        + " pin for this one."));
                        return CompletableFuture.completedFuture(null);
                    }
                    if (reply instanceof Reply.Answer told && told.status() < 500 && told.status() != 429) {
                        answer.complete(new Capabilities(
                                false,
                                "The engine does not tell its model at " + MODELS
                                        + ": write it as LMCache names it, lmcache: {url: …, model: NAME}."));
                    } else {
                        again(at, answer, reply instanceof Reply.NoAnswer lost ? lost.why() : "The engine is busy.");
                    }
                    return CompletableFuture.completedFuture(null);
                });
    }

    /** LMCache names a model by its path; an engine may serve it under another name. */
    private static Optional<String> served(Reply reply) {
        JsonNode first = Coordinator.json(reply).path("data").path(0);
        String path = first.path("root").asText("");
        String name = path.isEmpty() ? first.path("id").asText("") : path;
        return name.isEmpty() ? Optional.empty() : Optional.of(name);
    }

    private CompletionStage<Void> probe(Coordinator at, String name, CompletableFuture<Capabilities> answer) {
        return at.route(name, worldSize).thenCombine(caches.get(), (route, ranks) -> {
            switch (route) {
                case Coordinator.Route.Unanswered unanswered -> again(at, answer, unanswered.why());
                case Coordinator.Route.Missing missing -> answer.complete(new Capabilities(false, missing.why()));
                case Coordinator.Route.There there -> {
                    chunkTokens = there.chunkTokens();
                    answer.complete(can(at, name, ranks));
                }
            }
            return null;
        });
    }

    private Capabilities can(Coordinator at, String name, int ranks) {
        if (ranks > 1) {
            return new Capabilities(
                    false,
                    "This engine has " + ranks
                            + " caches (data-parallel ranks), which is not supported beside LMCache: run"
                            + " one engine per rank, each with a sidecar's engine of its own.");
        }
        return new Capabilities(
                true,
                "Unproven, since it was tried by LMCache's documentation only: the coordinator at " + at.address()
                        + " keeps what is pinned of " + name + " (world size " + worldSize
                        + ") in LMCache's shared storage, and not in the engine's cache.");
    }

    private void again(Coordinator at, CompletableFuture<Capabilities> answer, String why) {
        try {
            Future<?> unused = timer.schedule(() -> probe(at, answer), ASK_AGAIN_MILLIS, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            answer.complete(new Capabilities(false, why));
        }
    }

    @Override
    public String handle(PinCommand command) {
        return pinOf(command).text();
    }

    private PinHandle pinOf(PinCommand command) {
        int[] prefix = command.prefix().tokens().isPresent() ? command.prefix().tokensOf(command.blocks()) : new int[0];
        int[] marker = PinHandle.marker(own, chunkTokens);
        int[] tokens = Arrays.copyOf(prefix, prefix.length + marker.length);
        System.arraycopy(marker, 0, tokens, prefix.length, marker.length);
        return new PinHandle(
                coordinator.map(Coordinator::address).orElse(engine.base()),
                worldSize,
                model.orElse(""),
                tokens,
                marker.length);
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        if (command.prefix().tokens().isEmpty()) {
            return rejected("A prefix is pinned by its tokens, and they are not known.");
        }
        if (model.isEmpty()) {
            return rejected("The engine's model is not known, by which LMCache finds what is to be pinned.");
        }
        if (coordinator.isEmpty()) {
            return rejected(NOWHERE);
        }
        if (chunkTokens == 0) {
            return CompletableFuture.completedFuture(
                    new Outcome(Kind.NOT_SENT, "How large the LMCache coordinator's chunks are is not known yet."));
        }
        PinHandle pin = pinOf(command);
        if (pin.prefixTokens() < chunkTokens) {
            return rejected(String.format(
                    Locale.ROOT,
                    "The prefix has %,d tokens, which is less than one of the LMCache coordinator's chunks of %,d (its"
                            + " --chunk-size).",
                    pin.prefixTokens(),
                    chunkTokens));
        }
        return coordinator.get().pin(pin).thenApply(pinned -> {
            pinned.part().ifPresent(part -> parts.put(pin.text(), part));
            return pinned.outcome();
        });
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        return coordinator.map(at -> at.anyPins(model.orElse(""))).orElseGet(() -> rejected(NOWHERE));
    }

    /** Each by a call of its own, whose answer says nothing of the others. */
    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        return handles.stream()
                .map(this::unpin)
                .reduce((one, other) -> one.thenCombine(other, LmcacheBackend::both))
                .orElseThrow();
    }

    private static Outcome both(Outcome one, Outcome other) {
        return one.kind() == other.kind()
                ? one
                : new Outcome(Kind.CLIPPED, "Some were taken back. " + one.reason() + " " + other.reason());
    }

    private CompletionStage<Outcome> unpin(String text) {
        Optional<PinHandle> pin = PinHandle.of(text).filter(read -> read.leastChunks() > 0);
        if (pin.isEmpty()) {
            return rejected("The ledger's entry does not say what was pinned.");
        }
        Optional<Coordinator> at =
                coordinator.filter(known -> known.address().equals(pin.get().coordinator()));
        return at.map(same -> unpin(same, text, pin.get()))
                .orElseGet(() -> rejected("It was pinned at the LMCache coordinator at "
                        + pin.get().coordinator()
                        + ", and "
                        + coordinator
                                .map(other -> "the configuration names the one at " + other.address())
                                .orElse("the configuration names none")
                        + ": name it again (lmcache: {url: " + pin.get().coordinator()
                        + "}), so that it is released."));
    }

    private CompletionStage<Outcome> unpin(Coordinator at, String text, PinHandle pin) {
        PinHandle part = parts.remove(text);
        if (part == null) {
            return at.isThere(pin)
                    .thenCompose(there ->
                            there.kind() == Kind.ACCEPTED ? at.unpin(pin) : CompletableFuture.completedFuture(there));
        }
        return at.unpin(part).thenApply(outcome -> {
            if (outcome.kind() == Kind.NOT_SENT || outcome.kind() == Kind.REJECTED) {
                parts.put(text, part);
            }
            return outcome;
        });
    }

    private static CompletionStage<Outcome> rejected(String why) {
        return CompletableFuture.completedFuture(new Outcome(Kind.REJECTED, why));
    }
}
