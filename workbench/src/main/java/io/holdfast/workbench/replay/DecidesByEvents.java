package io.holdfast.workbench.replay;

import io.holdfast.core.rank.RankSettings;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.SteppedEngine.Served;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Decides by what an engine announces: what its cache does goes through the codec, and holds pin each block of a path.
 */
final class DecidesByEvents implements Decides, RankByEvents.Lever {
    private final int capacity;
    private final Decides.Lever lever;
    private final RankByEvents rank;
    private final EventWire wire;
    /** The paths that are held, by their last block. */
    private final Map<Long, int[]> held = new HashMap<>();

    DecidesByEvents(Announced announced, RankSettings settings, int capacity, int blockTokens, Decides.Lever lever) {
        this.capacity = capacity;
        this.lever = lever;
        rank = new RankByEvents(announced, settings, capacity, this);
        wire = new EventWire(announced.form().dialect, blockTokens, rank.sink());
    }

    @Override
    public void stored(int[] path, int from, int to, long nanos) {
        wire.stored(path, from, to);
    }

    @Override
    public void removed(int block, long nanos) {
        wire.removed(block);
    }

    @Override
    public void published(long nanos) {
        rank.now(nanos);
        wire.publish(nanos);
    }

    @Override
    public void finished(Served request, int hint, long nanos) {
        if (hint != 0) {
            long[] path = IntStream.of(request.path)
                    .limit(request.stored)
                    .mapToLong(EventWire::hash)
                    .toArray();
            rank.hint(path, path.length, hint == Replay.GOES_ON);
        }
    }

    @Override
    public void choose(int size, int running, long nanos) {
        rank.choose(capacity, running, nanos);
    }

    @Override
    public boolean hold(long[] path) {
        int[] blocks = LongStream.of(path).mapToInt(EventWire::block).toArray();
        held.put(path[path.length - 1], blocks);
        for (int block : blocks) {
            lever.pin(block);
        }
        return true;
    }

    @Override
    public void letGo(long lastBlock) {
        for (int block : Objects.requireNonNull(held.remove(lastBlock))) {
            lever.unpin(block);
        }
    }

    @Override
    public boolean isOpen() {
        return rank.isOpen();
    }

    @Override
    public int gateChanges() {
        return rank.gateChanges();
    }

    @Override
    public OptionalLong holdOperations() {
        return OptionalLong.of(rank.operations());
    }
}
