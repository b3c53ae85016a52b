package io.holdfast.core;

import io.holdfast.core.effect.FirstToken;
import io.holdfast.core.index.Prefix;
import io.holdfast.core.reading.EngineReadings;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * The one way from other threads to the thread that owns a controller.
 *
 * <p>Commands are bounded and may be refused. Outcomes may not, since losing one would lose a pin; they are as many as
 * calls under way. Of readings only the newest counts; first tokens that find it full are not counted.
 */
final class Mailbox {
    static final int CAPACITY = 1024;
    /**
     * Most touches that wait. A router may send one with each request, and they must not keep commands from being
     * taken.
     */
    static final int TOUCHES = 8192;

    private final Queue<Runnable> commands = new ArrayBlockingQueue<>(CAPACITY);
    private final Queue<Prefix> touches = new ArrayBlockingQueue<>(TOUCHES);
    private final AtomicLong refusedTouches = new AtomicLong();
    private final Queue<Runnable> outcomes = new ConcurrentLinkedQueue<>();
    private final Queue<FirstToken> firstTokens = new ArrayBlockingQueue<>(4 * CAPACITY);
    private final AtomicReference<Optional<EngineReadings>> readings = new AtomicReference<>(Optional.empty());
    private volatile Runnable wakeup = () -> {};

    void onMail(Runnable newWakeup) {
        wakeup = newWakeup;
    }

    /** False when the mailbox is full: the command was not taken. */
    boolean command(Runnable command) {
        boolean taken = commands.offer(command);
        if (taken) {
            wakeup.run();
        }
        return taken;
    }

    /** Nobody waits for it, so it wakes nobody; false when too many wait: it was not taken. */
    boolean touch(Prefix prefix) {
        boolean taken = touches.offer(prefix);
        if (!taken) {
            refusedTouches.incrementAndGet();
        }
        return taken;
    }

    long refusedTouches() {
        return refusedTouches.get();
    }

    /** Hands out the touches that wait. */
    int drainTouches(Consumer<Prefix> onTouch) {
        int work = 0;
        for (Prefix touch = touches.poll(); touch != null; touch = work < TOUCHES ? touches.poll() : null) {
            onTouch.accept(touch);
            work++;
        }
        return work;
    }

    void outcome(Runnable outcome) {
        outcomes.add(outcome);
        wakeup.run();
    }

    void readings(EngineReadings newest) {
        readings.set(Optional.of(newest));
        wakeup.run();
    }

    /** False when there are as many as may wait: it was not taken. Nothing hurries, so nobody is woken. */
    boolean firstToken(FirstToken report) {
        return firstTokens.offer(report);
    }

    void drainFirstTokens(Consumer<FirstToken> onReport) {
        for (FirstToken report = firstTokens.poll(); report != null; report = firstTokens.poll()) {
            onReport.accept(report);
        }
    }

    /** Handles what is there, at most one full mailbox of commands, and answers how much it was. */
    int drain(Consumer<EngineReadings> onReadings) {
        int work = 0;
        Optional<EngineReadings> newest = readings.getAndSet(Optional.empty());
        if (newest.isPresent()) {
            onReadings.accept(newest.get());
            work++;
        }
        work += drain(outcomes);
        work += drain(commands);
        return work;
    }

    private static int drain(Queue<Runnable> queue) {
        int work = 0;
        for (Runnable task = queue.poll(); task != null; task = work < CAPACITY ? queue.poll() : null) {
            task.run();
            work++;
        }
        return work;
    }
}
