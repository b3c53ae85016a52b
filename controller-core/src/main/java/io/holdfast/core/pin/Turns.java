package io.holdfast.core.pin;

import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Turns of the calls of one kind: eight at a time, the others in the order in which they came.
 *
 * <p>A client turns away what exceeds its own bound on calls under way; a call that waits here is not turned away.
 * Belongs to the controller's thread.
 */
final class Turns {
    static final int MOST_UNDER_WAY = 8;

    private final Queue<Runnable> waiting = new ArrayDeque<>();
    private int underWay;
    private boolean giving;

    /** Runs this now or when its turn comes. Each turn ends by {@link #over}. */
    void take(Runnable turn) {
        waiting.add(turn);
        giveNext();
    }

    /** Begins a turn past those that wait, and past the bound. */
    void takeNow() {
        underWay++;
    }

    /** Ends a turn: does what follows from it, and gives the next ones. */
    void over(Runnable then) {
        underWay--;
        then.run();
        giveNext();
    }

    private void giveNext() {
        if (giving) {
            // A turn that is over at once ends here; the loop goes on.
            return;
        }
        giving = true;
        try {
            while (underWay < MOST_UNDER_WAY && !waiting.isEmpty()) {
                underWay++;
                waiting.remove().run();
            }
        } finally {
            giving = false;
        }
    }
}
