package io.holdfast.sidecar;

import io.holdfast.core.EngineReadings;
import io.holdfast.core.Reading;
import java.time.Duration;
import java.util.OptionalDouble;

/**
 * Holds back the news that requests wait while nothing runs until it has lasted.
 *
 * <p>Such a reading makes the controller let go of every pin, which is right for an engine that pins have stopped, and
 * costs everything that was held. But any engine shows it for a moment, when a request has come and its batch has not been
 * formed, and for seconds while it works through one long prompt with another behind it. An engine that is stopped does
 * nothing at all: no prompt finishes, nothing is stored. Only when that has lasted is the queue's length believed; until
 * then it is unknown, with this reason. Nothing is lost by the delay: the stop lasts until something is done about it.
 */
final class StallConfirmation {
    static final long LASTING_NANOS = Duration.ofSeconds(3).toNanos();
    private static final Reading UNCONFIRMED =
            Reading.unknown("Requests seem to wait while nothing runs; that is believed" + " when it has lasted for "
                    + Duration.ofNanos(LASTING_NANOS).toSeconds() + " s without any work done.");

    private Seen first = Seen.NOTHING;

    /** What must not change while an engine stands still, and since when it has not. */
    private record Seen(
            boolean waiting, OptionalDouble prompts, OptionalDouble firstTokens, long batches, long sinceNanos) {
        static final Seen NOTHING = new Seen(false, OptionalDouble.empty(), OptionalDouble.empty(), 0, 0);

        boolean continues(Seen earlier) {
            return waiting
                    && earlier.waiting
                    && prompts.equals(earlier.prompts)
                    && firstTokens.equals(earlier.firstTokens)
                    && batches == earlier.batches;
        }
    }

    /**
     * The readings as the controller may believe them.
     *
     * @param batches batches of events applied so far
     */
    EngineReadings confirmed(EngineReadings readings, long batches, long nowNanos) {
        boolean waiting = readings.waitingRequests().number().orElse(0) > 0
                && readings.runningRequests().number().orElse(1) == 0;
        Seen seen = new Seen(
                waiting, readings.promptTokens().number(), readings.ttftCount().number(), batches, nowNanos);
        if (!seen.continues(first)) {
            first = seen;
        }
        return waiting && nowNanos - first.sinceNanos < LASTING_NANOS ? withoutQueue(readings) : readings;
    }

    private static EngineReadings withoutQueue(EngineReadings r) {
        return new EngineReadings(
                r.capacityTokens(),
                r.blockTokens(),
                r.largestAcceptedTokens(),
                r.runningRequests(),
                UNCONFIRMED,
                r.usedTokens(),
                r.ttftSumSeconds(),
                r.ttftCount(),
                r.promptTokens(),
                r.cachedTokens());
    }
}
