package io.holdfast.embed;

import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.ViewCatchUp;
import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.events.KvEventLoop;
import io.holdfast.events.OfferedView;
import io.holdfast.events.Subscription;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes the view of one cache from elsewhere whenever its own is not certain: from a disk, from a sibling, the newest
 * first.
 *
 * <p>For the thread that works for the loop, but for what says otherwise.
 */
public final class ViewTakeover {
    /*
     * When
     * ----
     * A stream is asked for its past first, as ever. Only where that does not close the hole (we joined late, lost more than
     * the engine repeats, or could not ask) is a view of somebody else's wanted. One that was refused is not asked for again
     * at once: the next attempt is a second later, then two, up to a minute.
     *
     * What is exact
     * -------------
     * The loop proves the view by the engine's own batches and brings a copy of it to the batch that was applied here last,
     * beside what is known. Then the cache becomes that copy, between two batches. What learns from events has heard each of
     * them once. Anything else leaves the view as it was, uncertain, with the reason here.
     */
    private static final Logger LOG = LoggerFactory.getLogger(ViewTakeover.class);
    private static final long FIRST_NANOS = 1_000_000_000L;
    private static final long LONGEST_NANOS = 64_000_000_000L;
    /** Time after which a source never answers. */
    private static final long LONGEST_ANSWER_NANOS = 120_000_000_000L;

    private final String engineId;
    private final int rank;
    private final List<ViewSource> sources;
    private final Naming naming;
    private final CacheTraits traits;
    private final LongSupplier clock;
    private final Consumer<Consumer<KvEventLoop>> worker;
    private final Consumer<ViewSnapshot> become;
    private final long beganNanos;

    private boolean asking;
    /** Number of the question that is open; what others answer comes too late. */
    private long question;

    private boolean unanswered;
    private long askedNanos;
    private long nextNanos;
    private long pauseNanos = FIRST_NANOS;
    private volatile long certainAfterNanos = -1;
    private final AtomicLong taken = new AtomicLong();
    private volatile String refusal = "";

    /**
     * Begins to count the time until the view is certain.
     *
     * @param sources where views may be had; none for a cache that is only counted
     * @param naming how the cache names blocks
     * @param worker has something done by the thread that works for the loop
     * @param become has the cache hold what a view says
     */
    public ViewTakeover(
            String engineId,
            int rank,
            List<ViewSource> sources,
            Naming naming,
            CacheTraits traits,
            LongSupplier clock,
            Consumer<Consumer<KvEventLoop>> worker,
            Consumer<ViewSnapshot> become) {
        this.engineId = engineId;
        this.rank = rank;
        this.sources = List.copyOf(sources);
        this.naming = naming;
        this.traits = traits;
        this.clock = clock;
        this.worker = worker;
        this.become = become;
        this.beganNanos = clock.getAsLong();
        this.nextNanos = beganNanos;
    }

    /** Looks whether a view is wanted, and asks for one; to be called again and again. */
    public void look(Subscription subscription, boolean certain) {
        if (certain) {
            if (certainAfterNanos < 0) {
                certainAfterNanos = Math.max(0, clock.getAsLong() - beganNanos);
            }
            pauseNanos = FIRST_NANOS;
            refusal = "";
            return;
        }
        if (unanswered && clock.getAsLong() - askedNanos > LONGEST_ANSWER_NANOS) {
            question++;
            refused("no answer came to whether there is a view of it");
        }
        boolean settled = subscription.connected() && !subscription.recovering();
        if (sources.isEmpty() || asking || !settled || clock.getAsLong() - nextNanos < 0) {
            return;
        }
        asking = true;
        long mine = ++question;
        unanswered = true;
        askedNanos = clock.getAsLong();
        nextNanos = clock.getAsLong() + pauseNanos;
        pauseNanos = Math.min(2 * pauseNanos, LONGEST_NANOS);
        if (subscription.replayEndpoint().isEmpty()) {
            refused("the engine repeats no past batches, so nothing proves that a view is of its present life");
            return;
        }
        List<String> whys = new ArrayList<>();
        CompletionStage<List<ViewSnapshot>> found = CompletableFuture.completedFuture(new ArrayList<>());
        for (ViewSource source : sources) {
            found = found.thenCombine(asked(source), (all, bytes) -> {
                bytes.flatMap(one -> readable(one, whys)).ifPresent(all::add);
                return all;
            });
        }
        found.thenAccept(all -> offerNewest(subscription, mine, all, whys)).exceptionally(failure -> {
            worker.accept(loop -> {
                if (mine == question) {
                    refused("a view could not be read (" + cause(failure) + ")");
                }
            });
            return null;
        });
    }

    /** Returns how long it took until the view was certain for the first time; any thread. */
    public Optional<Duration> certainAfter() {
        return Optional.of(certainAfterNanos).filter(nanos -> nanos >= 0).map(Duration::ofNanos);
    }

    /** Returns how many views were taken over; any thread. */
    public long taken() {
        return taken.get();
    }

    /** Returns why none was taken, in a sentence without its full stop, while the view is not certain; any thread. */
    public Optional<String> refusal() {
        return Optional.of(refusal).filter(why -> !why.isEmpty());
    }

    private CompletionStage<Optional<byte[]>> asked(ViewSource source) {
        CompletionStage<Optional<byte[]>> answer;
        try {
            answer = source.view(engineId, rank);
        } catch (RuntimeException e) {
            answer = CompletableFuture.failedFuture(e);
        }
        return answer.exceptionally(failure -> {
            LOG.warn("Engine {}: no view to take over ({}).", engineId, cause(failure));
            return Optional.empty();
        });
    }

    private Optional<ViewSnapshot> readable(byte[] bytes, List<String> whys) {
        try {
            ViewSnapshot view = ViewSnapshot.decode(bytes);
            if (view.fits(naming, traits)) {
                return Optional.of(view);
            }
            whys.add("it is of a cache whose blocks are named or counted in another way");
        } catch (IllegalArgumentException e) {
            whys.add(String.valueOf(e.getMessage()).replaceFirst("\\.$", ""));
        }
        return Optional.empty();
    }

    private void offerNewest(Subscription subscription, long mine, List<ViewSnapshot> views, List<String> whys) {
        views.sort(Comparator.comparingLong(view -> -view.position().sequence()));
        Optional<ViewSnapshot> newest = views.stream().findFirst();
        Optional<ViewCatchUp> copy = newest.map(ViewCatchUp::new);
        worker.accept(loop -> {
            if (mine != question) {
                return;
            }
            unanswered = false;
            if (newest.isPresent() && copy.isPresent()) {
                loop.offer(
                        subscription,
                        new Offer(subscription, newest.get(), copy.get(), views.subList(1, views.size()), whys));
            } else {
                refused(whys.isEmpty() ? "no view of it was found" : whys.getLast());
            }
        });
    }

    private void refused(String why) {
        asking = false;
        unanswered = false;
        refusal = why;
    }

    private static String cause(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        return String.valueOf(cause.getMessage());
    }

    private final class Offer implements OfferedView {
        private final Subscription subscription;
        private final ViewSnapshot view;
        private final ViewCatchUp copy;
        private final List<ViewSnapshot> older;
        private final List<String> whys;

        Offer(
                Subscription subscription,
                ViewSnapshot view,
                ViewCatchUp copy,
                List<ViewSnapshot> older,
                List<String> whys) {
            this.subscription = subscription;
            this.view = view;
            this.copy = copy;
            this.older = older;
            this.whys = whys;
        }

        @Override
        public StreamPosition position() {
            return view.position();
        }

        @Override
        public KvEventSink events() {
            return copy.events();
        }

        @Override
        public void taken(StreamPosition at) {
            asking = false;
            taken.incrementAndGet();
            // Nothing that it was told made it uncertain: what proves it has no gap.
            become.accept(copy.at(at).orElseThrow());
            LOG.info(
                    "Engine {}{}: a view that was exact after batch {} was taken over, and is now after batch {}.",
                    engineId,
                    rank == 0 ? "" : ", rank " + rank,
                    view.position().sequence(),
                    at.sequence());
        }

        @Override
        public void refused(String why) {
            whys.add(why);
            offerNewest(subscription, question, new ArrayList<>(older), whys);
        }
    }
}
