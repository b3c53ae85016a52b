package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One engine's event stream: who publishes it, who hears it, and how it has gone so far.
 *
 * <p>The counters can be read from any thread. The sequence is judged against the last batch that was read whole, so that a
 * refused frame shows as a gap as soon as the next one arrives.
 *
 * <p>A publisher that begins another life may have come to just the next number by the time it is heard again. After a lost
 * connection the next number therefore proves nothing, and is told as a gap of no batches, unless its batch begins with an
 * empty cache.
 */
public final class Subscription {
    private static final Logger LOG = LoggerFactory.getLogger(Subscription.class);
    private static final long NONE_YET = -1;

    private final String endpoint;
    private final String topic;
    private final KvEventSink sink;

    private final AtomicLong received = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final AtomicLong unknownEvents = new AtomicLong();
    private final AtomicLong gaps = new AtomicLong();
    private final AtomicLong lostBatches = new AtomicLong();
    private final AtomicLong restarts = new AtomicLong();
    private volatile String lastRefusal = "";
    private volatile boolean connected;
    private volatile boolean met;
    /** Set by the sockets' thread, before the new connection brings its first message. */
    private volatile boolean metAgain;

    private long last = NONE_YET;

    Subscription(String endpoint, String topic, KvEventSink sink) {
        this.endpoint = endpoint;
        this.topic = topic;
        this.sink = sink;
    }

    public String endpoint() {
        return endpoint;
    }

    public String topic() {
        return topic;
    }

    /** Whether a publisher is at the other end now. */
    public boolean connected() {
        return connected;
    }

    /** Messages that arrived, the refused ones included. */
    public long received() {
        return received.get();
    }

    /** Messages that were no batch of events. */
    public long refused() {
        return refused.get();
    }

    /** Events of a type that is not known here; they were skipped. */
    public long unknownEvents() {
        return unknownEvents.get();
    }

    /** How often the sequence jumped forward, or may have while the connection was lost. */
    public long gaps() {
        return gaps.get();
    }

    /** Batches that the gaps swallowed. */
    public long lostBatches() {
        return lostBatches.get();
    }

    /** How often the sequence fell back: the publisher began another life. */
    public long restarts() {
        return restarts.get();
    }

    /** One sentence about the last message that was refused. */
    public Optional<String> lastRefusal() {
        return Optional.of(lastRefusal).filter(text -> !text.isEmpty());
    }

    void connected(boolean now) {
        if (now && met) {
            metAgain = true;
        }
        if (now) {
            met = true;
        }
        connected = now;
    }

    /** Whether the message was a batch; its events have reached the sink then. */
    boolean accept(int frames, byte[] sequenceFrame, byte[] payload, KvEventDecoder decoder) {
        received.incrementAndGet();
        if (frames != 3) {
            return refuse("A message of " + frames + " frames came from " + endpoint
                    + "; a batch has three: topic, sequence, payload.");
        }
        if (sequenceFrame.length < Long.BYTES) {
            return refuse("A sequence of " + sequenceFrame.length + " bytes came from " + endpoint + "; it has eight.");
        }
        // Later builds append an identity of the publisher to the eight bytes.
        long sequence = ByteBuffer.wrap(sequenceFrame).getLong(0);
        if (sequence < 0) {
            return refuse("The sequence " + sequence + " came from " + endpoint + "; a live batch has none below 0.");
        }
        long unknownBefore = decoder.unknownEvents();
        if (!decoder.read(payload)) {
            return refuse("The payload of batch " + sequence + " from " + endpoint + " is no batch of events: "
                    + decoder.refusal() + ".");
        }
        unknownEvents.addAndGet(decoder.unknownEvents() - unknownBefore);
        judge(sequence, decoder.beginsWithClear());
        decoder.deliver(sequence, sink);
        return true;
    }

    private void judge(long sequence, boolean beginsWithClear) {
        long before = last;
        last = sequence;
        boolean doubtful = metAgain;
        if (doubtful) {
            metAgain = false;
            doubtful = !beginsWithClear;
        }
        if (before == NONE_YET) {
            if (sequence > 0) {
                sink.gap(new Gap(Gap.Cause.JOINED_LATE, 0, sequence));
            }
            return;
        }
        if (sequence == before + 1 && !doubtful) {
            return;
        }
        if (sequence > before) {
            gaps.incrementAndGet();
            lostBatches.addAndGet(sequence - before - 1);
            sink.gap(new Gap(doubtful ? Gap.Cause.DISCONNECTED : Gap.Cause.DROPPED, before + 1, sequence));
        } else {
            restarts.incrementAndGet();
            sink.restarted(sequence);
        }
    }

    private boolean refuse(String sentence) {
        lastRefusal = sentence;
        // Each doubling is told, so that a broken publisher cannot fill the log.
        if (Long.bitCount(refused.incrementAndGet()) == 1) {
            LOG.warn("{} Refused so far: {}.", sentence, refused.get());
        }
        return false;
    }
}
