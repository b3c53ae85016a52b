package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;

/**
 * The sockets of one endpoint: the one that receives live batches and, while past ones are requested, the one for the
 * replay.
 *
 * <p>The replay socket is a new one for each request, so that no answer to an older request, and no connection to an
 * earlier publisher, can get in between.
 */
final class EndpointSocket implements BatchSequencer.ReplayRequester {
    private static final int BURST = 256;
    private static final int BURST_BYTES = 8 << 20;
    private static final long END = -1;
    private static final byte SUBSCRIBE = 1;

    private final Selector selector;
    private final Runnable wakeup;
    private final EventSource source;
    private final List<Subscription> subscriptions;
    private final List<BatchSequencer> sequencers = new ArrayList<>();
    private final KvEventDecoder decoder;
    private final PeerSocket subscriber;
    private Optional<PeerSocket> replaySocket = Optional.empty();
    private String replayUnreachable = "";
    private boolean replaySocketLost;
    private long now;
    private boolean full;

    /**
     * One subscription for the cache that publishes there, or several for the ranks that share the endpoint.
     */
    EndpointSocket(
            Selector selector,
            Runnable wakeup,
            EventSource source,
            List<Subscription> subscriptions,
            IntFunction<KvEventSink> sinkOfRank,
            KvEventDecoder decoder,
            long now) {
        this.selector = selector;
        this.wakeup = wakeup;
        this.source = source;
        this.subscriptions = subscriptions;
        this.decoder = decoder;
        this.now = now;
        for (Subscription subscription : subscriptions) {
            sequencers.add(new BatchSequencer(
                    subscription,
                    sinkOfRank.apply(subscription.rank()),
                    decoder,
                    source.replayEndpoint().isPresent() ? Optional.of(this) : Optional.empty(),
                    now));
        }
        byte[] topic = source.topic().getBytes(StandardCharsets.UTF_8);
        byte[] subscribe =
                ByteBuffer.allocate(1 + topic.length).put(SUBSCRIBE).put(topic).array();
        this.subscriber = new PeerSocket(
                selector,
                wakeup,
                PeerSocket.Type.SUB,
                source.endpoint(),
                List.of(subscribe),
                new PeerSocket.Listener() {
                    @Override
                    public void connected(boolean there) {
                        subscriptions.forEach(subscription -> subscription.connected(there));
                    }

                    @Override
                    public void refused(String sentence) {
                        subscriptions.forEach(subscription -> subscription.unreachable(sentence));
                        subscriptions.getFirst().refuse(sentence);
                    }
                });
    }

    List<Subscription> subscriptions() {
        return subscriptions;
    }

    /** Applies what has arrived, up to a burst of it; answers how many batches reached the sink. */
    int drain(long nanos) {
        now = nanos;
        subscriber.round(now);
        for (BatchSequencer sequencer : sequencers) {
            sequencer.round(now, subscriber.connections(), subscriber.connected());
        }
        full = false;
        receiveLive();
        replaySocket.ifPresent(this::readAnswer);
        if (!replayUnreachable.isEmpty()) {
            String why = replayUnreachable;
            replayUnreachable = "";
            sequencers.getFirst().failed(why);
        }
        int applied = 0;
        for (BatchSequencer sequencer : sequencers) {
            applied += sequencer.takeApplied();
        }
        return applied;
    }

    long idleNanos() {
        long here = Math.min(sequencers.getFirst().idleNanos(), subscriber.idleNanos());
        return replaySocket.isPresent() ? Math.min(here, replaySocket.get().idleNanos()) : here;
    }

    /** Offers a view to one of the subscriptions. */
    void offer(Subscription subscription, OfferedView view) {
        sequencers.get(subscriptions.indexOf(subscription)).offer(view);
    }

    void close() {
        sequencers.forEach(BatchSequencer::close);
        stop();
        subscriber.close();
    }

    @Override
    public void requestReplay(long from) {
        stop();
        byte[] request = ByteBuffer.allocate(Long.BYTES).putLong(from).array();
        replaySocketLost = false;
        // The empty frame stands in for the envelope that the publisher's end expects.
        PeerSocket socket = new PeerSocket(
                selector,
                wakeup,
                PeerSocket.Type.DEALER,
                source.replayEndpoint().orElseThrow(),
                List.of(new byte[0], request),
                new PeerSocket.Listener() {
                    @Override
                    public void connected(boolean there) {
                        replaySocketLost = !there;
                    }

                    @Override
                    public void refused(String sentence) {
                        replayUnreachable = sentence.replaceFirst("\\.$", "");
                    }
                });
        replaySocket = Optional.of(socket);
        socket.round(now);
    }

    @Override
    public void stop() {
        replaySocket.ifPresent(PeerSocket::close);
        replaySocket = Optional.empty();
    }

    /** Returns true while past batches are requested. */
    boolean asks() {
        return replaySocket.isPresent();
    }

    /** Returns true if the last burst left something behind. */
    boolean full() {
        return full;
    }

    /**
     * Returns the bytes that the subscription has read since the last call, those of messages that are not whole among
     * them, as a share of what may gather without holding the publisher back.
     */
    double takeFill() {
        return subscriber.takeFill();
    }

    private void receiveLive() {
        long bytes = 0;
        for (int taken = 0; taken < BURST && bytes < BURST_BYTES; taken++) {
            long size = subscriber.receive();
            if (size < 0) {
                full = subscriber.more();
                return;
            }
            bytes += size;
            accept();
        }
        full = true;
        subscriptions.forEach(Subscription::fullRound);
    }

    private void accept() {
        int rank = 0;
        List<byte[]> frames = subscriber.frames();
        Optional<String> refusal = shape(frames, subscriber.frameCount());
        if (refusal.isEmpty() && sequencers.size() > 1) {
            rank = decoder.read(frames.get(2)) ? decoder.rank() : 0;
            if (rank < 0 || rank >= sequencers.size()) {
                refusal = Optional.of("A batch of rank " + rank + " came from " + source.endpoint()
                        + ", which the ranks 0 to " + (sequencers.size() - 1) + " were said to share.");
                rank = 0;
            }
        }
        Subscription subscription = subscriptions.get(rank);
        subscription.arrived();
        if (refusal.isPresent()) {
            subscription.refuse(refusal.get());
            return;
        }
        BatchSequencer sequencer = sequencers.get(rank);
        sequencer.live(new Message(subscriber.connections(), frames.get(1), frames.get(2), sequencer.replayRequests()));
    }

    /** Reason why the message is no batch, by its outside. */
    private Optional<String> shape(List<byte[]> frames, int frameCount) {
        if (frameCount != 3) {
            return Optional.of("A message of " + frameCount + " frames came from " + source.endpoint()
                    + "; a batch has three: topic, sequence, payload.");
        }
        byte[] sequence = frames.get(1);
        if (sequence.length < Long.BYTES) {
            return Optional.of(
                    "A sequence of " + sequence.length + " bytes came from " + source.endpoint() + "; it has eight.");
        }
        long number = ByteBuffer.wrap(sequence).getLong(0);
        return number < 0
                ? Optional.of("The sequence " + number + " came from " + source.endpoint()
                        + "; a live batch has none below 0.")
                : Optional.empty();
    }

    private void readAnswer(PeerSocket socket) {
        BatchSequencer sequencer = sequencers.getFirst();
        socket.round(now);
        // What is applied may end this question and begin another, by another socket.
        for (int taken = 0; replaySocket.filter(socket::equals).isPresent(); taken++) {
            if (taken == BURST) {
                full = true;
                return;
            }
            if (socket.receive() < 0) {
                full |= socket.more();
                if (replaySocketLost) {
                    sequencer.cutOff();
                }
                return;
            }
            // An empty frame, in newer builds the topic, the sequence and the payload.
            List<byte[]> frames = socket.frames();
            int at = socket.frameCount() - 2;
            if (at < 1 || at > 2 || frames.get(0).length > 0 || frames.get(at).length < Long.BYTES) {
                sequencer.failed("an answer of " + socket.frameCount() + " frames is none");
                return;
            }
            Message batch = new Message(0, frames.get(at), frames.get(at + 1), sequencer.replayRequests());
            if (batch.sequence == END && batch.payload.length == 0) {
                sequencer.ended();
            } else if (batch.sequence < 0) {
                sequencer.failed("an answer has the number " + batch.sequence);
            } else {
                sequencer.answered(batch);
            }
        }
    }
}
