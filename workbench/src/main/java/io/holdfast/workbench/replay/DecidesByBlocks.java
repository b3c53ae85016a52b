package io.holdfast.workbench.replay;

import io.holdfast.core.rank.RankSettings;
import io.holdfast.core.rank.RankedPins;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.workbench.replay.SteppedEngine.Served;

/**
 * Decides by blocks and not by places of paths: by each prompt and each answer as it is, which nobody knows beside an
 * engine, or by stores, each taken for a request of its own.
 */
final class DecidesByBlocks implements Decides {
    private final RankedPins pins;
    private final int blockTokens;
    private final boolean byStores;
    private final long[] numbers;
    private long[] hashes = new long[256];

    DecidesByBlocks(RankSettings settings, int capacity, Trace trace, boolean byStores, Lever lever) {
        this.blockTokens = trace.blockTokens();
        this.byStores = byStores;
        numbers = new long[trace.requests()];
        pins = new RankedPins(settings, capacity, new RankedPins.Pins() {
            @Override
            public void pin(long hash) {
                lever.pin((int) hash);
            }

            @Override
            public void unpin(long hash) {
                lever.unpin((int) hash);
            }
        });
    }

    @Override
    public void stored(int[] path, int from, int to, long nanos) {
        if (byStores) {
            pins.request(hashes(path, to), to, to, to, to * blockTokens, 0, nanos);
        }
    }

    @Override
    public void removed(int block, long nanos) {
        pins.removed(block, nanos);
    }

    @Override
    public void prefilled(Served request, int hint, long nanos) {
        if (!byStores) {
            int blocks = request.promptBlocks;
            int stored = Math.min(blocks, request.stored);
            long[] path = hashes(request.path, blocks);
            numbers[request.number] = pins.request(path, blocks, stored, blocks, request.promptTokens, hint, nanos);
        }
    }

    @Override
    public void finished(Served request, int hint, long nanos) {
        if (!byStores && request.stored > request.promptBlocks) {
            long[] path = hashes(request.path, request.stored);
            pins.grew(
                    numbers[request.number],
                    path,
                    request.promptBlocks,
                    request.stored,
                    request.promptTokens,
                    true,
                    nanos);
        }
    }

    @Override
    public void unpinned(int block) {
        pins.unpinned(block);
    }

    @Override
    public void choose(int size, int running, long nanos) {
        if (size > 0) {
            pins.capacity(size);
        }
        pins.running(running, nanos);
        pins.tick(nanos);
    }

    @Override
    public boolean isOpen() {
        return pins.isOpen();
    }

    @Override
    public int gateChanges() {
        return pins.gateChanges();
    }

    private long[] hashes(int[] path, int blocks) {
        if (hashes.length < blocks) {
            hashes = new long[2 * blocks];
        }
        for (int depth = 0; depth < blocks; depth++) {
            hashes[depth] = path[depth];
        }
        return hashes;
    }
}
