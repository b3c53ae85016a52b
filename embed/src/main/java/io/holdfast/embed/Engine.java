package io.holdfast.embed;

import io.holdfast.core.Controller;
import io.holdfast.core.ControllerSettings;
import io.holdfast.core.EngineView;
import io.holdfast.core.PrefixExplanation;
import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.hold.GivenBack;
import io.holdfast.core.hold.Hint;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.HoldView;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.hold.Released;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.events.BlockNaming;
import io.holdfast.events.Subscription;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine of a {@link Fleet}: what it has, and what is held there.
 *
 * <p>Any thread may call its methods, but for {@link #events}. Prompts are given as token ids, and what is held of them
 * are their whole blocks. What it cannot answer since it is only routed to, was removed or failed, it answers with a
 * {@link RejectedExecutionException} that says so; no answer stays out.
 */
public final class Engine {
    private static final Logger LOG = LoggerFactory.getLogger(Engine.class);
    /** A controller that was told nothing is polled so often. */
    private static final long POLL_NANOS = 50_000_000;

    private final Fleet fleet;
    private final EngineOptions options;
    private final Optional<Engine> present = Optional.of(this);
    private final Optional<Controller> controller;
    private final AtomicBoolean hasMail = new AtomicBoolean(true);
    private final AtomicReference<Optional<String>> over = new AtomicReference<>(Optional.empty());
    /** Refusals for those that wait for an answer. */
    private final Set<Runnable> waiting = ConcurrentHashMap.newKeySet();

    /** True once it was removed, as the fleet does it once. */
    private boolean leaving;

    private volatile boolean routed = true;
    private volatile Optional<String> trouble = Optional.empty();
    private volatile List<Cache> caches = List.of();
    private volatile List<Subscription> subscriptions = List.of();

    /* The working thread's. */
    private final List<KvEventSink> sinks = new ArrayList<>();
    /** By rank; read by any thread once it is there. */
    private volatile List<ViewTakeover> takeovers = List.of();

    private final LongAdder blind = new LongAdder();
    private boolean toldEvents;
    private long polledNanos;

    Engine(Fleet fleet, EngineOptions options) {
        this.fleet = fleet;
        this.options = options;
        controller = options.holding().map(holding -> controller(options, holding));
        controller.ifPresent(driven -> driven.onMail(() -> {
            hasMail.set(true);
            fleet.wakeup();
        }));
    }

    private static Controller controller(EngineOptions options, Holding holding) {
        Controller made = new Controller(
                holding.settings().orElseGet(() -> ControllerSettings.defaults(options.id())),
                options.requests(),
                holding.backends(),
                holding.ledger(),
                holding.acting(),
                holding.random());
        holding.identity().ifPresent(made::engineIs);
        return made;
    }

    /** The embedder's name for it. */
    public String id() {
        return options.id();
    }

    /** Sink for its events, where the embedder brings them; for the thread that works for the fleet. */
    public KvEventSink events() {
        return events(0);
    }

    /**
     * Sink for the events of one data-parallel rank's cache; those below it are followed from now on, too.
     *
     * @throws IllegalStateException where it was removed, or the fleet is closed
     */
    public KvEventSink events(int rank) {
        fleet.settle();
        if (over.get().isPresent()) {
            throw new IllegalStateException(overRefusal());
        }
        return sink(rank);
    }

    private KvEventSink sink(int rank) {
        while (sinks.size() <= rank) {
            int next = sinks.size();
            Cache cache = fleet.addCache(this, options.caches());
            List<Cache> more = new ArrayList<>(caches);
            more.add(cache);
            caches = List.copyOf(more);
            List<ViewTakeover> looked = new ArrayList<>(takeovers);
            looked.add(new ViewTakeover(
                    id(),
                    next,
                    options.views(),
                    BlockTree.Naming.CONTENT_CHAIN,
                    options.caches(),
                    fleet.clock(),
                    fleet::onLoop,
                    view -> become(cache, view)));
            takeovers = List.copyOf(looked);
            sinks.add(options.naming()
                    .listening(new EngineEvents(this, cache, controller.map(driven -> driven.events(next)))));
        }
        return sinks.get(rank);
    }

    private void become(Cache cache, ViewSnapshot view) {
        try {
            cache.become(view);
        } catch (RuntimeException | Error e) {
            indexFailed(e);
        }
    }

    /** Returns true if what is known of its caches is exactly what it has; false before its first event. */
    public boolean certain() {
        List<Cache> known = caches;
        for (int rank = 0; rank < known.size(); rank++) {
            if (!known.get(rank).certain()) {
                return false;
            }
        }
        return !known.isEmpty();
    }

    /**
     * Copies what is known of its caches, to be written down or given to another process; any thread. By rank; empty for
     * a cache that is not certain, or whose events the embedder hands in.
     */
    public CompletionStage<List<Optional<ViewSnapshot>>> snapshot() {
        CompletableFuture<List<Optional<ViewSnapshot>>> answer = new CompletableFuture<>();
        fleet.later(() -> {
            List<Cache> known = caches;
            List<Subscription> heard = subscriptions;
            answer.complete(IntStream.range(0, Math.min(known.size(), heard.size()))
                    .mapToObj(rank -> heard.get(rank).position().flatMap(known.get(rank)::snapshot))
                    .toList());
        });
        if (fleet.closed()) {
            answer.complete(List.of());
        }
        return answer;
    }

    /** Returns how long it took until what is known of all its caches was certain for the first time. */
    public Optional<Duration> certainAfter() {
        List<ViewTakeover> looked = takeovers;
        return looked.isEmpty()
                        || looked.stream().anyMatch(one -> one.certainAfter().isEmpty())
                ? Optional.empty()
                : looked.stream().flatMap(one -> one.certainAfter().stream()).max(Comparator.naturalOrder());
    }

    /** Returns how many prompts were matched while what is known of it was not certain. */
    public long blind() {
        return blind.sum();
    }

    /** Returns how many views of its caches were taken over from elsewhere. */
    public long viewsTaken() {
        return takeovers.stream().mapToLong(ViewTakeover::taken).sum();
    }

    /** Counts a prompt that is matched. */
    void matched() {
        if (!certain()) {
            blind.increment();
        }
    }

    /** Looks after views that are not certain. */
    void lookAtViews() {
        List<Subscription> heard = subscriptions;
        for (int rank = 0; rank < heard.size() && rank < caches.size(); rank++) {
            takeovers.get(rank).look(heard.get(rank), caches.get(rank).certain());
        }
    }

    /** Reason why it is certain or not, in a sentence without its full stop. */
    public String certainty() {
        List<Cache> known = caches;
        return known.stream()
                .filter(cache -> !cache.certain())
                .findFirst()
                .or(() -> known.stream().findFirst())
                .map(cache -> cache.certainty() + refusal())
                .orElse("nobody has worked for the fleet since it was added");
    }

    private String refusal() {
        return takeovers.stream()
                .flatMap(one -> one.refusal().stream())
                .findFirst()
                .filter(why -> !certain() && !options.views().isEmpty())
                .map(why -> "; no view was taken over: " + why)
                .orElse("");
    }

    /**
     * Subscriptions to its events, one for each of its caches; empty where the embedder brings them, or before they are
     * listened to.
     */
    public List<Subscription> subscriptions() {
        return subscriptions;
    }

    /**
     * Fault that a person should mend, in a sentence without its full stop; absent where nothing is known to be wrong.
     */
    public Optional<String> trouble() {
        return fault().or(() -> trouble)
                .or(() -> subscriptions.stream()
                        .filter(each -> !each.connected())
                        .findFirst()
                        .map(Subscription::silence));
    }

    /** Reason why nothing is decided here any more: a fault of ours, or that it was removed; absent as a rule. */
    public Optional<String> fault() {
        return over.get();
    }

    /**
     * The names of a prompt's whole blocks as this engine has them, with how long they are to be held, to be asked for.
     *
     * @throws IllegalArgumentException with one sentence, where the prompt is shorter than a block
     * @throws BlockNaming.UnknownRule with one sentence, where the engine has not shown yet how it names blocks
     */
    public HoldRequest prefix(int[] tokens, Lease lease) {
        long[] blocks = names(tokens);
        boolean withTokens = options.holding().map(Holding::keepsTokens).orElse(false);
        return withTokens
                ? new HoldRequest(blocks, Arrays.copyOf(tokens, blocks.length * fleet.blockTokens()), lease)
                : new HoldRequest(blocks, lease);
    }

    /**
     * Holds the whole blocks of a prompt; answered when they are held, refused or known to have to wait, with the
     * reason.
     */
    public CompletionStage<HoldView> hold(int[] tokens, Lease lease) {
        return named(() -> hold(prefix(tokens, lease)));
    }

    /** Holds a {@link #prefix} that was given a requester or a weight. */
    public CompletionStage<HoldView> hold(HoldRequest request) {
        return ask(driven -> driven.request(request));
    }

    /**
     * Gives a hold up; answered when it is unpinned, or known to be pinned still; empty where there is no such hold.
     */
    public CompletionStage<Optional<HoldView>> release(long holdId) {
        return ask(driven -> driven.release(holdId));
    }

    /**
     * Gives all holds up and pauses holding until {@link #resume}, through restarts; answered once every unpin has an
     * outcome.
     */
    public CompletionStage<Released> releaseAll(String reason) {
        return ask(driven -> driven.releaseAll(reason));
    }

    /** Ends all that one requester wants here, and answers what that gave back. */
    public CompletionStage<GivenBack> releaseOf(String requester) {
        return ask(driven -> driven.releaseOf(requester));
    }

    /**
     * Ends what is held of this prompt's whole blocks and of what goes on from them, whoever wants it, and answers what
     * that gave back; what is shorter stays, since others may share it.
     */
    public CompletionStage<GivenBack> releaseOn(int[] tokens) {
        return named(() -> {
            Prefix prefix = new NamedBlocks(names(tokens));
            return ask(driven -> driven.releaseOn(prefix, Set.of()));
        });
    }

    /** Ends that pause; answers whether there was one. */
    public CompletionStage<Boolean> resume() {
        return ask(Controller::resumeHolding);
    }

    /** Says what becomes of the conversation that begins with this prompt; answers the holds that it concerned. */
    public CompletionStage<List<HoldView>> hint(Hint hint, int[] tokens) {
        return named(() -> {
            Prefix prefix = new NamedBlocks(names(tokens));
            return ask(driven -> driven.hint(hint, prefix, ""));
        });
    }

    /**
     * Says that a request with this prompt was sent there: at once it prolongs what uses prolong, and whatever events
     * do not show is learned from it.
     *
     * @return false where that could not be taken: it is only routed to, the prompt is shorter than a block, its blocks
     *     cannot be named yet, or too many wait
     */
    public boolean touched(int[] tokens) {
        if (controller.isEmpty() || fault().isPresent() || tokens.length < fleet.blockTokens()) {
            return false;
        }
        try {
            return controller.get().touched(new NamedBlocks(names(tokens)));
        } catch (BlockNaming.UnknownRule e) {
            return false;
        }
    }

    /** Hands in one request's first token; false where it was not taken: it is only routed to, or too many wait. */
    public boolean firstToken(FirstToken report) {
        return fault().isEmpty()
                && controller.map(driven -> driven.firstToken(report)).orElse(false);
    }

    /** Hands in fresh numbers from the engine, without which nothing is held, with times of the fleet's clock. */
    public void readings(EngineReadings readings) {
        controller.filter(driven -> fault().isEmpty()).ifPresent(driven -> driven.readings(readings));
    }

    /** Answers what is known of a prompt's whole blocks, what was decided about them, and why. */
    public CompletionStage<PrefixExplanation> explain(int[] tokens) {
        return named(() -> {
            Prefix prefix = new NamedBlocks(names(tokens));
            return ask(driven -> driven.explain(prefix));
        });
    }

    /** The newest picture of what is believed, held and decided; absent for an engine that is only routed to. */
    public Optional<EngineView> view() {
        return controller.map(Controller::view);
    }

    /**
     * Whatever else there is to ask; absent for an engine that is only routed to. It is polled by the fleet, and by
     * nobody else.
     */
    public Optional<Controller> controller() {
        return controller;
    }

    @Override
    public String toString() {
        return id();
    }

    /** A prefix that nobody asks to hold. */
    private static final class NamedBlocks implements Prefix {
        private final long[] names;

        NamedBlocks(long[] names) {
            this.names = names;
        }

        @Override
        public int blocks() {
            return names.length;
        }

        @Override
        public long block(int depth) {
            return names[depth];
        }
    }

    private long[] names(int[] tokens) {
        if (tokens.length < fleet.blockTokens()) {
            throw new IllegalArgumentException("The prompt has " + tokens.length + " tokens, less than one block of "
                    + fleet.blockTokens() + "; nothing of it can be held.");
        }
        return options.naming().of(tokens, fleet.blockTokens());
    }

    private <T> CompletionStage<T> named(Supplier<CompletionStage<T>> question) {
        try {
            return question.get();
        } catch (IllegalArgumentException | BlockNaming.UnknownRule e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private <T> CompletionStage<T> ask(Function<Controller, CompletionStage<T>> question) {
        if (controller.isEmpty()) {
            return CompletableFuture.failedFuture(new RejectedExecutionException(
                    "Engine " + id() + " is only routed to: add it with a Holding to have prefixes held there."));
        }
        if (over.get().isPresent()) {
            return CompletableFuture.failedFuture(new RejectedExecutionException(overRefusal()));
        }
        CompletableFuture<T> answer = new CompletableFuture<>();
        Runnable refuse = () -> answer.completeExceptionally(new RejectedExecutionException(overRefusal()));
        waiting.add(refuse);
        question.apply(controller.get()).whenComplete((value, failure) -> {
            waiting.remove(refuse);
            if (failure == null) {
                answer.complete(value);
            } else {
                answer.completeExceptionally(failure);
            }
        });
        if (over.get().isPresent()) {
            refuseWaiting();
        }
        return answer;
    }

    private String overRefusal() {
        return "Engine " + id() + " answers nothing any more: " + over.get().orElse("it is gone") + ".";
    }

    private void refuseWaiting() {
        waiting.forEach(Runnable::run);
        waiting.clear();
    }

    /* What the fleet does. */

    Optional<Engine> present() {
        return present;
    }

    EngineOptions options() {
        return options;
    }

    boolean routed() {
        return routed;
    }

    /** It is to go; false where it was to go before. The fleet sees to it that one thread asks. */
    boolean leaves() {
        boolean first = !leaving;
        leaving = true;
        return first;
    }

    void toldEvents() {
        toldEvents = true;
    }

    void announced(int blockTokens) {
        if (blockTokens > 0 && blockTokens != fleet.blockTokens() && trouble.isEmpty()) {
            trouble = Optional.of("its blocks have " + blockTokens + " tokens and the fleet's have "
                    + fleet.blockTokens()
                    + ", so that nothing of it is found: start it with that page or block size, or a fleet of its own");
            LOG.warn("Engine {}: {}.", id(), trouble.get());
        }
    }

    /** Listens to its events, and follows its first cache in any case. */
    void attach() {
        if (over.get().isPresent()) {
            return;
        }
        sink(0);
        options.events().ifPresent(source -> subscriptions = fleet.loop().subscribe(source, this::sink));
    }

    /** Polls its controller if that was told something, or not polled for a while; how much was done. */
    int poll(long nanos) {
        if (controller.isEmpty() || fault().isPresent()) {
            return 0;
        }
        boolean due = hasMail.getAndSet(false) || toldEvents || nanos - polledNanos >= POLL_NANOS;
        if (!due) {
            return 0;
        }
        toldEvents = false;
        polledNanos = nanos;
        try {
            return controller.get().poll(nanos);
        } catch (RuntimeException | Error e) {
            failed("its controller failed", e);
            return 0;
        }
    }

    void failed(String what, Throwable cause) {
        end(what + " (" + cause + "); its pins are in its ledger, and the next process releases them");
        LOG.error("Engine {} is decided about no more: {}.", id(), what, cause);
    }

    /** Nothing is known of its caches from now on. */
    void indexFailed(Throwable cause) {
        failed("its events could not be applied", cause);
        fleet.forget(this);
    }

    /** Answers nothing from now on, and says why; what waits is answered so. */
    void end(String why) {
        over.compareAndSet(Optional.empty(), Optional.of(why));
        refuseWaiting();
    }

    /** Releases what its controller holds, if it holds anything. */
    CompletionStage<Released> letGo(String reason) {
        return controller.isEmpty() || fault().isPresent()
                ? CompletableFuture.completedFuture(new Released(0, 0))
                : ask(driven -> driven.letGo(reason));
    }

    /** Its caches, which are none from now on. */
    List<Cache> takeCaches() {
        List<Cache> were = caches;
        caches = List.of();
        routed = false;
        return were;
    }
}
