package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.StreamPosition;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The event stream of one cache: who publishes it and how it has gone so far.
 *
 * <p>Everything can be read from any thread. A cache's first life, its restarts, its clears and what was lost are told
 * apart: a restart is counted here, a clear is an event, and a gap has its {@linkplain Gap.Cause cause}.
 */
public final class Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(Subscription.class);

    private final EventSource source;
    private final int rank;
    private final FrameListener frames;

    private final AtomicLong received = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong unknownEvents = new AtomicLong();
    private final AtomicLong duplicates = new AtomicLong();
    private final Map<Gap.Cause, AtomicLong> gaps = new EnumMap<>(Gap.Cause.class);
    private final AtomicLong lostBatches = new AtomicLong();
    private final AtomicLong restarts = new AtomicLong();
    private final AtomicLong replays = new AtomicLong();
    private final AtomicLong failedReplays = new AtomicLong();
    private final AtomicLong replayedBatches = new AtomicLong();
    private final AtomicLong fullRounds = new AtomicLong();
    private volatile String lastRefusal = "";
    private volatile String lastFailure = "";
    private volatile String unreachable = "";
    private volatile boolean connected;
    private volatile boolean recovering;

    /* The loop's: the last batch that was applied. */
    private long publisher;
    private long sequence = -1;
    private long checksum;

    Subscription(EventSource source, int rank) {
        this(source, rank, FrameListener.NONE);
    }

    Subscription(EventSource source, int rank, FrameListener frames) {
        this.source = source;
        this.rank = rank;
        this.frames = frames;
        for (Gap.Cause cause : Gap.Cause.values()) {
            gaps.put(cause, new AtomicLong());
        }
    }

    public String endpoint() {
        return source.endpoint();
    }

    /** Address at which past batches are requested; absent when nothing can be recovered. */
    public Optional<String> replayEndpoint() {
        return source.replayEndpoint();
    }

    public String topic() {
        return source.topic();
    }

    /** The data-parallel rank whose cache this is. */
    public int rank() {
        return rank;
    }

    /** Returns true while a publisher is at the other end. */
    public boolean connected() {
        return connected;
    }

    /** Returns true while past batches are being requested: what is known is about to be complete. */
    public boolean recovering() {
        return recovering;
    }

    /** Messages that arrived unasked, the refused ones included. */
    public long received() {
        return received.get();
    }

    /** Messages that were no batch of events, and attempts to connect to something that is no publisher. */
    public long refused() {
        return refused.get();
    }

    /** Events of a type that is not known here; they were skipped. */
    public long unknownEvents() {
        return unknownEvents.get();
    }

    /** Batches that had been applied already, or were overtaken by a complete replay. */
    public long duplicates() {
        return duplicates.get();
    }

    /**
     * Number of times that batches were lost in the middle of the stream, or may have been while the connection was
     * lost.
     */
    public long gaps() {
        return gaps(Gap.Cause.DROPPED) + gaps(Gap.Cause.DISCONNECTED);
    }

    /** Number of times that batches were missing for this reason. */
    @SuppressWarnings("NullAway") // every cause was put
    public long gaps(Gap.Cause cause) {
        return gaps.get(cause).get();
    }

    /** Batches that the {@link #gaps()} swallowed. */
    public long lostBatches() {
        return lostBatches.get();
    }

    /** Number of times that the publisher was found to have begun another life. */
    public long restarts() {
        return restarts.get();
    }

    /** Number of times that past batches were requested. */
    public long replays() {
        return replays.get();
    }

    /** Number of times that the answer did not come, or made no sense. */
    public long failedReplays() {
        return failedReplays.get();
    }

    /** Batches that were had by asking. */
    public long replayedBatches() {
        return replayedBatches.get();
    }

    /**
     * Rounds in which one burst did not empty what had arrived. The publisher is ahead of us while this grows with every
     * round; it drops batches once its own queue for us is full.
     */
    public long fullRounds() {
        return fullRounds.get();
    }

    /** One sentence about the last message that was refused. */
    public Optional<String> lastRefusal() {
        return Optional.of(lastRefusal).filter(text -> !text.isEmpty());
    }

    /** One sentence about the last replay that failed. */
    public Optional<String> lastReplayFailure() {
        return Optional.of(lastFailure).filter(text -> !text.isEmpty());
    }

    /**
     * Returns the last batch that was applied, between two rounds and on the loop's thread; absent before the first. It
     * says how far what is known goes where that is certain.
     */
    public Optional<StreamPosition> position() {
        return sequence < 0 ? Optional.empty() : Optional.of(new StreamPosition(publisher, sequence, checksum));
    }

    /** Says that nobody answers at the endpoint, and why where that is known; without its full stop. */
    public String silence() {
        return "its events do not answer at " + endpoint()
                + (unreachable.isEmpty() ? "" : ", since: " + unreachable.replaceFirst("\\.$", ""));
    }

    void connected(boolean now) {
        connected = now;
        if (now) {
            unreachable = "";
        }
    }

    /** No publisher is at the other end, for this reason. */
    void unreachable(String sentence) {
        unreachable = sentence;
    }

    /** A batch is about to reach its sink. */
    void applied(Message batch) {
        frames.frame(rank, batch.sequence, batch.payload);
    }

    void reached(Message batch) {
        publisher = batch.publisher;
        sequence = batch.sequence;
        checksum = batch.checksum;
    }

    void arrived() {
        received.incrementAndGet();
    }

    void unknown(long events) {
        unknownEvents.addAndGet(events);
    }

    void duplicate() {
        duplicates.incrementAndGet();
    }

    @SuppressWarnings("NullAway") // every cause was put
    void lost(Gap gap) {
        gaps.get(gap.cause()).incrementAndGet();
        if (gap.cause() != Gap.Cause.JOINED_LATE) {
            lostBatches.addAndGet(gap.batches());
        }
    }

    void restarted() {
        restarts.incrementAndGet();
    }

    void recovering(boolean now) {
        recovering = now;
    }

    void replayRequested() {
        replays.incrementAndGet();
    }

    void replayed() {
        replayedBatches.incrementAndGet();
    }

    void fullRound() {
        fullRounds.incrementAndGet();
    }

    void replayFailed(String why) {
        lastFailure = "Asking " + source.replayEndpoint().orElse("nobody") + " for past batches failed: " + why + ".";
        warn(lastFailure, failedReplays.incrementAndGet());
    }

    void refuse(String sentence) {
        lastRefusal = sentence;
        warn(sentence, refused.incrementAndGet());
    }

    /** Each doubling is told, so that a broken publisher cannot fill the log. */
    private static void warn(String sentence, long times) {
        if (Long.bitCount(times) == 1) {
            LOG.warn("{} So far: {}.", sentence, times);
        }
    }
}
