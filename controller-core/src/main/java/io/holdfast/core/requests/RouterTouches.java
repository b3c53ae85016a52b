package io.holdfast.core.requests;

import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.LongToLongMap;
import io.holdfast.core.index.Prefix;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Finds, among the uses of prefixes that routers tell of, those whose requests no event shows.
 *
 * <p>It belongs to the thread that applies the events.
 */
public final class RouterTouches {
    /*
     * One request, told twice
     * -----------------------
     * A router tells of each request, before the engine serves it or after; events show those that store something.
     * Nothing connects the two but the path. So a touch waits for a while, and each visible request that passes the
     * touched block takes one touch of that block with it, one that came or one that comes; what is left over when the
     * while has passed was shown by nothing. A touch whose prefix is not in the cache as it comes has a request that
     * will store it: it waits, so that its visible request takes it and no other, and teaches nothing whatever becomes
     * of it.
     *
     * Where others send requests of which no router tells, their visible ones take touches with them, too: this errs to
     * few touches, never to a request that counts twice, unless it waited for longer than the while in the engine's
     * queue.
     *
     * Of a block that was not touched for a while nobody counted the visible requests. That one was there shows by the
     * last touch in the tree; how many there were does not.
     */
    static final long WHILE_NANOS = 30_000_000_000L;
    static final int MOST_WAITING = 65_536;
    private static final int MOST_PASSES = 1_024;

    /** Hears of a use that no event shows. */
    @FunctionalInterface
    public interface Listener {
        /** The path down to this block was used at that time. */
        void unseen(long lastBlock, long nanos);
    }

    private static final class Touch {
        final long block;
        final long nanos;
        final boolean there;
        boolean shown;

        Touch(long block, long nanos, boolean there) {
            this.block = block;
            this.nanos = nanos;
            this.there = there;
        }
    }

    /** Account of one touched block. */
    private static final class Account {
        final Deque<Touch> waiting = new ArrayDeque<>();
        /** Times of visible requests that took no touch with them yet. */
        final Deque<Long> passes = new ArrayDeque<>();
    }

    private final EngineBlocks blocks;
    private final Listener listener;
    private final Map<Long, Account> accounts = new HashMap<>();
    /** Blocks with an account, to be looked up for each block of a path. */
    private final LongToLongMap touched = new LongToLongMap();
    /** Touches in the order in which they came; those that were shown are among them until their while is over. */
    private final Deque<Touch> waiting = new ArrayDeque<>();

    private long nowNanos;
    private long told;
    private long shown;
    private long unseen;

    public RouterTouches(EngineBlocks blocks, Listener listener) {
        this.blocks = blocks;
        this.listener = listener;
    }

    /** Tells of what has waited for long enough. */
    public void now(long nanos) {
        nowNanos = nanos;
        while (!waiting.isEmpty() && (over(waiting.peek().nanos) || waiting.size() > MOST_WAITING)) {
            Touch touch = waiting.poll();
            Account account = accounts.get(touch.block);
            if (account != null) {
                account.waiting.remove(touch);
                closeIfIdle(touch.block, account);
            }
            if (!touch.shown && touch.there) {
                unseen++;
                listener.unseen(touch.block, touch.nanos);
            }
        }
    }

    private boolean over(long nanos) {
        return nowNanos - nanos >= WHILE_NANOS;
    }

    private void closeIfIdle(long block, Account account) {
        while (!account.passes.isEmpty() && over(account.passes.peek())) {
            account.passes.poll();
        }
        if (account.waiting.isEmpty() && account.passes.isEmpty()) {
            accounts.remove(block);
            touched.remove(block);
        }
    }

    /** A router says that a request uses this path now. */
    public void touched(Prefix path) {
        told++;
        long block = path.block(path.blocks() - 1);
        Account account = accounts.get(block);
        if (account == null) {
            account = new Account();
            accounts.put(block, account);
            touched.put(block, 1);
            long last = blocks.lastTouch(block);
            if (last > 0 && !over(last)) {
                account.passes.add(last);
            }
        }
        Touch touch = new Touch(block, nowNanos, blocks.resident(block));
        waiting.add(touch);
        while (!account.passes.isEmpty() && over(account.passes.peek())) {
            account.passes.poll();
        }
        if (account.passes.poll() == null) {
            account.waiting.add(touch);
        } else {
            show(touch);
        }
    }

    private void show(Touch touch) {
        touch.shown = true;
        shown++;
    }

    /**
     * Events show the prompt of a user's request.
     *
     * @param before the blocks of it that were shown before
     */
    public void prompt(VisibleRequest request, int before) {
        if (accounts.isEmpty() || request.blocks() == 0) {
            return;
        }
        long[] path = blocks.path(request.lastBlock());
        for (int depth = before; depth < Math.min(path.length, request.promptBlocks()); depth++) {
            Account account = touched.get(path[depth]) == 0 ? null : accounts.get(path[depth]);
            if (account != null) {
                passed(account);
            }
        }
    }

    private void passed(Account account) {
        Touch first = account.waiting.peek();
        for (Iterator<Touch> each = account.waiting.iterator(); each.hasNext(); ) {
            Touch touch = each.next();
            if (!touch.there) {
                first = touch;
                break;
            }
        }
        if (first != null) {
            account.waiting.remove(first);
            show(first);
            return;
        }
        if (account.passes.size() == MOST_PASSES) {
            account.passes.poll();
        }
        account.passes.add(nowNanos);
    }

    /** Events were lost, or the cache was emptied: what waits can be compared with nothing. */
    public void forget() {
        waiting.clear();
        accounts.clear();
        touched.clear();
    }

    /** Returns the number of requests that routers told of. */
    public long told() {
        return told;
    }

    /** Returns how many of those were shown by a visible request as well. */
    public long shown() {
        return shown;
    }

    /** Returns how many of those no event showed, though the prefix was in the cache. */
    public long unseen() {
        return unseen;
    }
}
