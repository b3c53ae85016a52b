package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StreamPosition;
import java.util.Optional;

/*
 * The order in which a publisher spoke, put together from what arrives: live batches by connections that come and go,
 * and the publisher's memory of its last batches, which can be requested.
 *
 * Numbers and lives. A publisher numbers its batches from 0 and begins again with each of its lives. Within a
 * connection TCP keeps the order, so there the next number is the next batch, a higher one means that batches were
 * dropped, and a lower one is a second copy (its checksum is known) or another life. Between two connections numbers
 * prove nothing: another life may have come to the very next number.
 *
 * A replay request goes to the publisher of now, by a connection of its own that is made for it, and asks for the
 * *last* batch that was applied and all after it. The same number with the same bytes is proof of the same life; then
 * nothing is missing when the answer ends. The same number with other bytes, or no such number, is another life: it is
 * requested from 0. An answer that begins above what was asked is a gap, as is one that does not come.
 *
 * When a replay is requested: when a connection was made (that finds a quiet engine's past, too), when a number is
 * missing, when numbers fall back to something above 0, and when nothing was heard for a while, since the last batch
 * before a silence may have been dropped like any other. Live batches wait meanwhile, within limits, and are applied
 * after the answer; what the answer had already is known by its checksum.
 *
 * Why the newest connection decides. Lives follow each other in time. A replay that was requested after a connection
 * was made is answered by the life at its other end or by a later one; if by a later one, that connection is dead and a
 * newer will come, with a request of its own. So after the last request the view is the living publisher's, whatever
 * was mixed up before, and the batches of older connections that still wait add nothing to a complete answer and are
 * dropped. For the same reason a batch that came before a request and is still missing from its complete answer will
 * never be explained: the hole before it is told as a gap.
 *
 * When asking fails, because nobody answers in time, the answer is nonsense or too much arrives meanwhile, the stream
 * goes on as one that cannot ask, for a while: the next number after another connection is a gap of no batches then,
 * unless its batch begins with an empty cache. A request after one that failed is put off for longer.
 *
 * Views that are offered. What a publisher no longer repeats may be known to somebody else, who was there. Such a view is
 * as good as the batch after which it was taken, so that batch is requested, with all that came since. When the
 * first of the answer is that batch, by its bytes, the view is of the life that answers. Those that were applied here as
 * well are told to the view alone, and the last of them must be the one that was applied: then both are of one life, at
 * one place, and the view is taken. A view that is ahead of what was applied is taken where it is. From there the answer
 * goes on as any other. Whatever else comes, the view is refused, nothing of it is used and the stream is what it was. Without
 * anybody to ask there is no proof: the next number may be another life's.
 */

/** One cache's batches in the publisher's order, for a sink. */
final class BatchSequencer {
    static final long ANSWER_NANOS = 5_000_000_000L;
    private static final long RETRY_NANOS = 10_000_000_000L;
    private static final long LONGEST_RETRY_NANOS = 320_000_000_000L;
    private static final long FIRST_CHECK_NANOS = 1_000_000_000L;
    private static final long LONGEST_CHECK_NANOS = 32_000_000_000L;
    private static final int MOST_CUT_OFFS = 3;
    private static final long NONE_YET = -1;

    /**
     * Asks the publisher for its past; its answers come back by {@link #answered}, {@link #ended} or {@link #failed}.
     */
    interface ReplayRequester {
        /** Ends what was asked before. */
        void requestReplay(long from);

        void stop();
    }

    private final Subscription counts;
    private final KvEventSink sink;
    private final KvEventDecoder decoder;
    private final Optional<ReplayRequester> requester;
    private final RecentChecksums checksums = new RecentChecksums();
    private final PendingBatches pending = new PendingBatches();

    private long now;
    private int applied;
    private long last = NONE_YET;
    private long publisher;

    /** The last connection that was made, and the last one whose life is known to be the one that was applied. */
    private long newest;

    private long proven;
    private long oldest;

    private boolean connected;

    private boolean awaitingReplay;
    private int replayRequests;
    private int complete;
    private long requestedOver;
    private long due;
    private boolean confirmed;
    private boolean anotherLife;
    private boolean progress;
    private int cutOffs;
    private Optional<Message> unreadable = Optional.empty();

    /** True while batches of an answer are applied without those that end it. */
    private boolean unfinished;

    private Gap.Cause cause = Gap.Cause.DROPPED;

    private Optional<OfferedView> offered = Optional.empty();
    /** True while an answer is to prove what is offered. */
    private boolean proving;

    private long provenUpTo;

    private long usableAt;
    private long retryNanos = RETRY_NANOS;
    private long heardAt;
    private long checkNanos = FIRST_CHECK_NANOS;

    BatchSequencer(
            Subscription counts,
            KvEventSink sink,
            KvEventDecoder decoder,
            Optional<ReplayRequester> requester,
            long now) {
        this.counts = counts;
        this.sink = sink;
        this.decoder = decoder;
        this.requester = requester;
        this.now = now;
        this.usableAt = now;
        this.heardAt = now;
    }

    /** Begins a round; {@code connection} is the last one that was made, and may be gone again. */
    void round(long nanos, long connection, boolean stillThere) {
        now = nanos;
        connected = stillThere;
        if (connection > newest) {
            newest = connection;
            usableAt = now;
            retryNanos = RETRY_NANOS;
            checkNanos = FIRST_CHECK_NANOS;
            heardAt = now;
        }
        if (awaitingReplay) {
            if (newest > requestedOver) {
                // Who was asked may be gone.
                beginReplay();
            } else if (now - due >= 0) {
                failed("it did not answer within " + ANSWER_NANOS / 1_000_000_000L + " seconds");
            }
        } else if (connected && canRequestReplay()) {
            if (newest > proven) {
                beginReplay();
            } else if (offered.isPresent()) {
                beginProof(offered.get());
            } else if (now - heardAt >= checkNanos) {
                checkNanos = Math.min(2 * checkNanos, LONGEST_CHECK_NANOS);
                heardAt = now;
                beginReplay();
            }
        }
    }

    /** Offers a view, which is taken or refused later on. */
    void offer(OfferedView view) {
        if (requester.isEmpty()) {
            view.refused("the engine repeats no past batches, so nothing proves that the view is of its present life");
        } else if (offered.isPresent()) {
            view.refused("another one is being looked at");
        } else {
            offered = Optional.of(view);
        }
    }

    /** The subscription ends. */
    void close() {
        refuse("the subscription ended");
    }

    /** Time for which nothing needs to be done unless something arrives. */
    long idleNanos() {
        if (!awaitingReplay && (requester.isEmpty() || !connected)) {
            return Long.MAX_VALUE;
        }
        long next = offered.isPresent() ? now : heardAt + checkNanos;
        return Math.max(0, (awaitingReplay ? due : Math.max(usableAt, next)) - now);
    }

    int replayRequests() {
        return replayRequests;
    }

    /** Batches that reached the sink since the last call. */
    int takeApplied() {
        int count = applied;
        applied = 0;
        return count;
    }

    void live(Message batch) {
        heardAt = now;
        newest = Math.max(newest, batch.connection);
        if (awaitingReplay) {
            if (pending.add(batch)) {
                return;
            }
            progress = false;
            failed("more than " + PendingBatches.MOST + " batches or " + (PendingBatches.MOST_BYTES >> 20)
                    + " MiB came before it had answered");
        }
        process(batch);
    }

    /** A batch of the answer. */
    void answered(Message batch) {
        due = now + ANSWER_NANOS;
        if (proving) {
            prove(batch, offered.orElseThrow());
            return;
        }
        if (!confirmed && batch.sequence == last) {
            boolean forgotten = !checksums.knows(last);
            if (forgotten) {
                // The life was doubted, which was told, and nothing was heard since: this one is as good as any.
                checksums.remember(batch);
            }
            if (forgotten || (checksums.has(batch) && !batch.contradicts(publisher))) {
                confirmed = true;
                adopt();
            } else {
                anotherLife = true;
                beginReplay();
            }
            return;
        }
        boolean unreachable = !confirmed;
        if (!unreachable && !anotherLife && batch.sequence <= last) {
            if (!checksums.has(batch)) {
                failed("it contradicts itself about batch " + batch.sequence);
            }
            return;
        }
        if (!unreachable && !anotherLife && last != NONE_YET && batch.sequence > last + 1 && progress) {
            beginReplay();
            return;
        }
        if (!read(batch)) {
            unreadable = Optional.of(batch);
            return;
        }
        if (anotherLife) {
            anotherLife = false;
            restarted(batch.sequence);
        } else if (unreachable && batch.sequence < last) {
            failed("it began with batch " + batch.sequence + " when it was asked from " + last);
            return;
        } else if (unreachable) {
            confirmed = true;
            lost(cause, batch.sequence);
        } else if (batch.sequence != last + 1) {
            lost(last == NONE_YET ? Gap.Cause.JOINED_LATE : Gap.Cause.DROPPED, batch.sequence);
        }
        adopt();
        progress = true;
        unfinished = true;
        counts.replayed();
        apply(batch);
    }

    /** The answer is complete. */
    void ended() {
        if (proving) {
            refuse("the engine repeats its batch " + provenUpTo + " no more");
            settle(false);
        } else if (!confirmed) {
            anotherLife = true;
            beginReplay();
        } else if (anotherLife && requestedOver == proven) {
            anotherLife = false;
            failed("it remembers nothing");
        } else {
            if (anotherLife) {
                // Born and silent. It stays another life until it speaks.
                doubt(Gap.Cause.DISCONNECTED, last + 1);
            }
            unreadable.filter(batch -> batch.sequence > last).ifPresent(this::giveUp);
            complete = replayRequests;
            unfinished = false;
            retryNanos = RETRY_NANOS;
            settle(!anotherLife);
        }
    }

    /** The connection broke in the middle of the answer: the answer is requested again while there is time. */
    void cutOff() {
        if (proving) {
            failed("it hung up");
            return;
        }
        cutOffs = progress ? 0 : cutOffs + 1;
        if (cutOffs > MOST_CUT_OFFS) {
            // Who hangs up at once would be asked again at once, thousands of times a second.
            failed("it hung up " + cutOffs + " times without a batch that is missing");
            return;
        }
        long until = due;
        beginReplay();
        due = until;
    }

    void failed(String why) {
        if (proving) {
            refuse("asking the engine for past batches failed: " + why);
        }
        if (progress) {
            beginReplay();
            return;
        }
        counts.replayFailed(why);
        usableAt = now + retryNanos;
        retryNanos = Math.min(2 * retryNanos, LONGEST_RETRY_NANOS);
        boolean lifeUnknown = anotherLife || requestedOver > proven;
        if (last != NONE_YET && (lifeUnknown || unfinished)) {
            dropOlder(requestedOver);
            long next = anotherLife
                    ? last + 1
                    : pending.peek()
                            .map(batch -> batch.sequence)
                            .filter(s -> s > last)
                            .orElse(last + 1);
            if (lifeUnknown) {
                doubt(anotherLife ? Gap.Cause.DISCONNECTED : cause, next);
            } else {
                lost(cause, next);
                last = next - 1;
            }
        }
        unfinished = false;
        settle(!lifeUnknown && checksums.knows(last));
    }

    /** Goes on with what waited. */
    private void settle(boolean sameLife) {
        awaitingReplay = false;
        cutOffs = 0;
        counts.recovering(false);
        requester.ifPresent(ReplayRequester::stop);
        proven = Math.max(proven, requestedOver);
        oldest = proven;
        while (!awaitingReplay) {
            Optional<Message> next = pending.poll();
            if (next.isEmpty()) {
                return;
            }
            Message batch = next.get();
            if (sameLife && batch.connection <= proven && batch.sequence <= last) {
                // The answer had it, or gave it up for lost; its connection is that of the answer's life, or dead.
                counts.duplicate();
            } else {
                process(batch);
            }
        }
    }

    /** Once it is told that the life is not known, silence adds nothing to that. */
    private void doubt(Gap.Cause why, long next) {
        if (checksums.knows(last) || next > last + 1) {
            lost(why, next);
        }
        last = next - 1;
        checksums.forget();
    }

    /** The publisher said so, and nobody will ever know what. */
    private void giveUp(Message batch) {
        lost(last == NONE_YET ? Gap.Cause.JOINED_LATE : Gap.Cause.DROPPED, batch.sequence + 1);
        last = batch.sequence;
        checksums.remember(batch);
    }

    /** The life that answers is the one that is applied: so is that of the newest connection, or it is dead. */
    private void adopt() {
        if (requestedOver > proven) {
            proven = requestedOver;
            unfinished = true;
        }
    }

    private void dropOlder(long connection) {
        oldest = connection;
        while (pending.peek().filter(batch -> batch.connection < connection).isPresent()) {
            pending.poll();
            counts.duplicate();
        }
    }

    private boolean canRequestReplay() {
        return requester.isPresent() && now - usableAt >= 0;
    }

    private void beginProof(OfferedView view) {
        proving = true;
        provenUpTo = view.position().sequence();
        request(provenUpTo);
    }

    /** A batch of the answer that is to prove what is offered. */
    private void prove(Message batch, OfferedView view) {
        StreamPosition from = view.position();
        boolean first = provenUpTo == from.sequence() && !confirmed;
        if (batch.sequence != provenUpTo + (first ? 0 : 1)) {
            notProven(
                    first && batch.sequence > provenUpTo
                            ? "the engine repeats nothing before its batch " + batch.sequence
                                    + ", and the view was exact after " + provenUpTo
                            : "the engine repeated batch " + batch.sequence + " after " + provenUpTo);
            return;
        }
        if (first && (batch.checksum != from.checksum() || batch.contradicts(from.publisher()))) {
            notProven("the engine's batch " + batch.sequence + " is another one: it has begun another life since");
            return;
        }
        boolean applied = batch.sequence <= last;
        if (applied && checksums.knows(batch.sequence) && !checksums.has(batch)) {
            notProven("the engine's batch " + batch.sequence + " is not the one that was heard from it");
            return;
        }
        if (!first) {
            if (!read(batch)) {
                notProven("batch " + batch.sequence + " cannot be read");
                return;
            }
            try {
                decoder.deliver(batch.sequence, view.events());
            } catch (RuntimeException e) {
                notProven("batch " + batch.sequence + " cannot be applied to it (" + e + ")");
                return;
            }
        }
        confirmed = true;
        provenUpTo = batch.sequence;
        if (batch.sequence >= last) {
            take(batch, view);
        }
    }

    private void take(Message batch, OfferedView view) {
        proving = false;
        anotherLife = false;
        offered = Optional.empty();
        // What was applied is known by one checksum for certain, and from here on.
        if (batch.sequence != last || !checksums.has(batch)) {
            checksums.forget();
        }
        reached(batch);
        progress = true;
        view.taken(new StreamPosition(publisher, last, batch.checksum));
    }

    private void notProven(String why) {
        refuse(why);
        settle(false);
    }

    private void refuse(String why) {
        proving = false;
        Optional<OfferedView> view = offered;
        offered = Optional.empty();
        view.ifPresent(refused -> refused.refused(why));
    }

    private void beginReplay() {
        if (proving) {
            refuse("the connection was lost while it was looked at");
        }
        if (!unfinished) {
            cause = newest > proven ? Gap.Cause.DISCONNECTED : Gap.Cause.DROPPED;
        }
        boolean fromTheBeginning = anotherLife || last == NONE_YET;
        request(fromTheBeginning ? 0 : last);
        confirmed = fromTheBeginning;
    }

    private void request(long from) {
        awaitingReplay = true;
        replayRequests++;
        requestedOver = newest;
        confirmed = false;
        progress = false;
        unreadable = Optional.empty();
        due = now + ANSWER_NANOS;
        counts.replayRequested();
        counts.recovering(true);
        requester.orElseThrow().requestReplay(from);
    }

    private void process(Message batch) {
        if (batch.connection < oldest) {
            counts.duplicate();
            return;
        }
        if (!read(batch)) {
            return;
        }
        boolean stranger = batch.contradicts(publisher);
        boolean familiar = publisher != 0 && batch.publisher == publisher;
        boolean doubtful = batch.connection != proven && !familiar;
        if (canRequestReplay() && batch.connection > proven) {
            replayBefore(batch);
            return;
        }
        long sequence = batch.sequence;
        boolean explained = batch.replayRequests < complete;
        if (last != NONE_YET && (stranger || (anotherLife && !explained) || sequence <= last)) {
            if (!doubtful && checksums.has(batch)) {
                counts.duplicate();
                return;
            }
            if (canRequestReplay() && sequence > 0 && !explained) {
                anotherLife = true;
                replayBefore(batch);
                return;
            }
            restarted(sequence);
        } else if (sequence != last + 1) {
            if (canRequestReplay() && !explained) {
                replayBefore(batch);
                return;
            }
            lost(
                    last == NONE_YET ? Gap.Cause.JOINED_LATE : doubtful ? Gap.Cause.DISCONNECTED : Gap.Cause.DROPPED,
                    sequence);
        } else if (last != NONE_YET && doubtful && !decoder.beginsWithClear()) {
            lost(Gap.Cause.DISCONNECTED, sequence);
        }
        proven = batch.connection;
        anotherLife = false;
        apply(batch);
    }

    private void replayBefore(Message batch) {
        pending.putBack(batch);
        beginReplay();
    }

    private boolean read(Message batch) {
        long unknownBefore = decoder.unknownEvents();
        if (decoder.read(batch.payload)) {
            counts.unknown(decoder.unknownEvents() - unknownBefore);
            return true;
        }
        counts.refuse("The payload of batch " + batch.sequence + " from " + counts.endpoint()
                + " is no batch of events: " + decoder.refusal() + ".");
        return false;
    }

    private void apply(Message batch) {
        reached(batch);
        applied++;
        counts.applied(batch);
        decoder.deliver(batch.sequence, sink);
    }

    private void reached(Message batch) {
        last = batch.sequence;
        publisher = batch.publisher;
        checksums.remember(batch);
        counts.reached(batch);
    }

    private void lost(Gap.Cause cause, long seen) {
        Gap gap = new Gap(cause, last + 1, seen);
        counts.lost(gap);
        sink.gap(gap);
    }

    private void restarted(long seen) {
        checksums.forget();
        counts.restarted();
        sink.restarted(seen);
    }
}
