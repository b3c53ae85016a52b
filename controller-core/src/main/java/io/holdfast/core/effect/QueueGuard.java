package io.holdfast.core.effect;

import io.holdfast.core.reading.EngineReadings;
import java.util.Optional;
import java.util.OptionalDouble;

/** Tells whether requests queue behind a full engine, by readings in a row: one alone is a burst. */
final class QueueGuard {
    private static final int IN_A_ROW = 10;
    private static final double FEWEST_WAITING = 4;

    private int inARow;
    private boolean bad;

    void look(EngineReadings readings) {
        OptionalDouble waiting = readings.waitingRequests().number();
        OptionalDouble running = readings.runningRequests().number();
        if (waiting.isEmpty() || running.isEmpty()) {
            return;
        }
        boolean queues = waiting.getAsDouble() > Math.max(FEWEST_WAITING, running.getAsDouble());
        inARow = queues == bad ? 0 : inARow + 1;
        if (inARow >= IN_A_ROW) {
            bad = queues;
            inARow = 0;
        }
    }

    Optional<String> trouble() {
        return bad
                ? Optional.of("more requests wait than run, so holds stay on until the queue is shorter")
                : Optional.empty();
    }
}
