package io.holdfast.embed.cell;

import java.util.Map;
import java.util.OptionalDouble;

/**
 * What one member's part in a cell cost, and what became of it, since it began.
 *
 * @param rounds rounds of calls that ended
 * @param failed rounds of them that told nothing: a call failed, came late or never, or the store had forgotten or kept
 *     back what we put
 * @param refused values that were not used, by reason
 * @param bytesIn bytes of values read
 * @param bytesOut bytes of values put
 * @param sinceGoodSeconds time since the last good round began; absent before the first one
 * @param lastRoundSeconds how long the last round took, to the second between polls
 * @param trouble why the last round told nothing, in words without a full stop; empty where it told something
 * @param twin whether another process took part by our engine's name within the last minute, so that the others see one
 *     engine where there are two
 * @param sums whether sums are read in the place of digests
 */
public record CellCounters(
        long rounds,
        long failed,
        Map<Refusal, Long> refused,
        long bytesIn,
        long bytesOut,
        OptionalDouble sinceGoodSeconds,
        double lastRoundSeconds,
        String trouble,
        boolean twin,
        boolean sums) {}
