package io.holdfast.events;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** Writes down, one line each, what a sink is told. */
final class EventLog implements KvEventSink {
    private final List<String> lines = new ArrayList<>();
    private long stampMicros;

    List<String> lines() {
        return lines;
    }

    /** The stamp of the batch that was told last. */
    long stampMicros() {
        return stampMicros;
    }

    static String textOfStored(StoredBlocks chain) {
        long[] hashes =
                LongStream.range(0, chain.count()).map(i -> chain.hash((int) i)).toArray();
        int[] tokens = IntStream.range(0, chain.tokenCount()).map(chain::token).toArray();
        return "stored " + Arrays.toString(hashes)
                + (chain.rooted() ? " at the root" : " under " + chain.parent())
                + " " + Arrays.toString(tokens) + " by " + chain.blockTokens() + " in " + chain.tier()
                + ofGroup(chain.group())
                + (chain.windowed() ? " windowed" : "")
                + (chain.namespaced() ? " namespaced" : "");
    }

    static String textOfRemoved(long[] hashes, int from, int to, Tier tier, int group) {
        return "removed " + Arrays.toString(Arrays.copyOfRange(hashes, from, to)) + " from " + tier + ofGroup(group);
    }

    private static String ofGroup(int group) {
        return group == 0 ? "" : " of group " + group;
    }

    @Override
    public void batchStarted(long sequence, long stampMicros) {
        lines.add("batch " + sequence);
        this.stampMicros = stampMicros;
    }

    @Override
    public void stored(StoredBlocks chain) {
        lines.add(textOfStored(chain));
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        lines.add(textOfRemoved(hashes, from, to, tier, group));
    }

    @Override
    public void cleared() {
        lines.add("cleared");
    }

    @Override
    public void batchEnded() {
        lines.add("end");
    }

    @Override
    public void gap(Gap gap) {
        lines.add("gap " + gap.cause() + " " + gap.expected() + " " + gap.seen());
    }

    @Override
    public void restarted(long seen) {
        lines.add("restarted " + seen);
    }
}
