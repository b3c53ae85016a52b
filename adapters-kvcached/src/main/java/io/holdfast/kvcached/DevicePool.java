package io.holdfast.kvcached;

import io.holdfast.kvcached.LimitLever.Origin;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * The engines of one device, whose limits share its memory.
 *
 * <p>A device that is full ends the engine that asks for more. So all limits together never exceed the budget by a move
 * of ours: one is lowered, shown to be followed, and only then another is raised. One thread at a time.
 */
public final class DevicePool {
    private static final double FULL = 0.9;
    private static final double NEARLY_EMPTY = 0.5;
    private static final long STRAINED_NANOS = TimeUnit.SECONDS.toNanos(3);
    private static final long RESTED_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long RECENTLY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final OptionalLong budgetBytes;
    private final List<LimitLever> levers = new ArrayList<>();
    private final Map<LimitLever, Long> strainedSince = new HashMap<>();
    private final Map<LimitLever, Long> restedSince = new HashMap<>();

    /** @param budgetBytes what the limits may be together; absent for an engine that shares with nobody */
    public DevicePool(OptionalLong budgetBytes) {
        this.budgetBytes = budgetBytes;
    }

    public void add(LimitLever lever) {
        levers.add(lever);
    }

    /**
     * The move of this engine that is next, if there is one to make now; to be made known by {@link #begins} before it
     * is made.
     */
    public Optional<Move> next(LimitLever lever, long now) {
        return lever.next(roomBytes(), anotherShrinks(lever), now);
    }

    private boolean anotherShrinks(LimitLever lever) {
        return levers.stream().anyMatch(other -> other != lever && other.shrinks());
    }

    /** Begins the move; returns the record to be written before it. The move counts from here on. */
    public LimitRecord begins(LimitLever lever, Move move) {
        lever.begins(move);
        return lever.record(move);
    }

    public void ended(LimitLever lever, Move move, WriteResult result, long now) {
        lever.ended(move, result, now);
    }

    /** Takes an operator's request for one of them. */
    public Optional<Refusal> request(LimitLever lever, long bytes) {
        return lever.request(bytes, roomBytes());
    }

    /** The move that leaves a safe limit behind when this process ends. */
    public Optional<Move> last(LimitLever lever) {
        return lever.last(roomBytes());
    }

    /**
     * Bytes by which the limits may grow together; negative where they exceed the budget already, as engines do that
     * start with most of the device each. An engine that was never seen may start with anything, so nothing grows
     * before.
     */
    public long roomBytes() {
        if (budgetBytes.isEmpty()) {
            return Long.MAX_VALUE;
        }
        return levers.stream().allMatch(LimitLever::seen) ? budgetBytes.getAsLong() - committedBytes() : 0;
    }

    /** Bytes that the engines may take together, by any limit that may be in force. */
    public long committedBytes() {
        return levers.stream().mapToLong(LimitLever::committed).sum();
    }

    public OptionalLong budgetBytes() {
        return budgetBytes;
    }

    /** Warning about a device whose limits are more than it has; absent where they are not. */
    public Optional<String> excess() {
        return budgetBytes.isPresent() && committedBytes() > budgetBytes.getAsLong()
                ? Optional.of("the limits of the engines on its device are " + ByteSize.text(committedBytes())
                        + " together, and it has " + ByteSize.text(budgetBytes.getAsLong())
                        + " for them: lower one before they are used, since a full device ends an engine")
                : Optional.empty();
    }

    /**
     * Moves memory to where requests wait for it, among engines that may be moved by pressure: an engine that is full
     * and strained for three seconds gets a step, from what is left over or from a neighbour that rested for a minute.
     */
    public void followPressure(long now) {
        for (LimitLever lever : levers) {
            lever.forgetPressure();
            since(strainedSince, lever, strained(lever, now), now);
            since(restedSince, lever, lever.load().rests() && lever.pressure() < NEARLY_EMPTY, now);
        }
        levers.stream()
                .filter(lever -> lever.mayFollowPressure() && !lever.hasWish() && lever.standing() < lever.startup())
                .filter(lever -> lasted(strainedSince, lever, STRAINED_NANOS, now))
                .findFirst()
                .ifPresent(lever -> give(lever, now));
    }

    private void give(LimitLever needs, long now) {
        if (roomBytes() >= Math.min(needs.step(), needs.startup() - needs.standing())) {
            needs.wish(
                    Math.min(needs.startup(), needs.standing() + needs.step()),
                    Origin.PRESSURE,
                    "its requests wait for memory");
            return;
        }
        levers.stream()
                .filter(lever -> lever != needs && lever.mayFollowPressure() && !lever.hasWish() && !lever.shrinks())
                .filter(lever -> lasted(restedSince, lever, RESTED_NANOS, now))
                .filter(lever -> spare(lever) > 0)
                .max(Comparator.comparingLong(DevicePool::spare))
                .ifPresent(lever -> lever.wish(
                        lever.standing() - Math.min(lever.step(), spare(lever)),
                        Origin.PRESSURE,
                        "it rests, and a neighbour's requests wait for memory"));
    }

    private static long spare(LimitLever lever) {
        return lever.standing() - lever.lowest().orElse(lever.standing());
    }

    private static boolean strained(LimitLever lever, long now) {
        return lever.pressure() >= FULL
                && (lever.load().waitingRequests().orElse(0) > 0
                        || lever.worseSince(now - RECENTLY_NANOS).isPresent());
    }

    private static void since(Map<LimitLever, Long> times, LimitLever lever, boolean holds, long now) {
        if (holds) {
            times.putIfAbsent(lever, now);
        } else {
            times.remove(lever);
        }
    }

    private static boolean lasted(Map<LimitLever, Long> times, LimitLever lever, long nanos, long now) {
        Long since = times.get(lever);
        return since != null && now - since >= nanos;
    }
}
