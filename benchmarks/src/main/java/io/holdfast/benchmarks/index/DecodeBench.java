package io.holdfast.benchmarks.index;

import io.holdfast.benchmarks.CountingSink;
import io.holdfast.benchmarks.index.StopWatch.Span;
import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.BlockTree.Naming;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.KvEventDecoder;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.ArrayList;
import java.util.List;

/**
 * Frames from the wire's bytes to the block tree, and as far as the decoder alone.
 *
 * <p>A recording is played over and over, with a clear in between, until a round has seen enough blocks to be timed. The
 * three arms of a round come one right after the other: a sink that only counts, a tree that names blocks by the engine's
 * hashes, and one that computes the content chain from the tokens.
 */
final class DecodeBench {
    private static final double MILLION = 1e6;

    private final ProcessTime process = new ProcessTime();
    private final int rounds;
    private final int blocksPerRound;

    /** Each figure is the median of this many rounds of so many blocks, after half as many that do not count. */
    DecodeBench(int rounds, int blocksPerRound) {
        this.rounds = rounds;
        this.blocksPerRound = blocksPerRound;
    }

    /** The recordings, and what is made of them to have more blocks in an event. */
    static List<Frames> sets() {
        List<Frames> sets = new ArrayList<>(Frames.recorded());
        for (Frames recorded : Frames.recorded()) {
            switch (recorded.name()) {
                case "vllm-0.32.0-maps" -> sets.add(Regrouped.of(recorded, Dialect.VLLM_MAPS));
                case "sglang-0.5.23-page16" -> sets.add(Regrouped.of(recorded, Dialect.SGLANG_MAPS));
                default -> {
                    // events of other sizes tell no more
                }
            }
        }
        return List.copyOf(sets);
    }

    Figures run(Frames frames) {
        CountingSink once = new CountingSink();
        play(frames, once, new KvEventDecoder(), 0);
        int turns = (int) Math.max(1, blocksPerRound / Math.max(1, once.blocks()));
        double blocks = (double) turns * once.blocks();

        Cache byHash = new BlockTree(Naming.ENGINE_HASH).addCache(frames.traits());
        Cache byChain = new BlockTree(Naming.CONTENT_CHAIN).addCache(frames.traits());
        Arm decode = new Arm(frames, new CountingSink(), turns);
        Arm tree = new Arm(frames, byHash, turns);
        Arm chain = new Arm(frames, byChain, turns);
        double[] decodeCpu = new double[rounds];
        double[] treeCpu = new double[rounds];
        double[] treeWall = new double[rounds];
        double[] chainCpu = new double[rounds];
        for (int round = -1 - rounds / 2; round < rounds; round++) {
            Span decoded = decode.round();
            Span stored = tree.round();
            Span chained = chain.round();
            if (round >= 0) {
                decodeCpu[round] = blocks / decoded.cpu() / MILLION;
                treeCpu[round] = blocks / stored.cpu() / MILLION;
                treeWall[round] = blocks / stored.wall() / MILLION;
                chainCpu[round] = blocks / chained.cpu() / MILLION;
            }
        }
        return Figures.of("decode")
                .add("set", frames.name())
                .add("frames", frames.payloads().size())
                .add("bytes", frames.bytes())
                .add("blocks", once.blocks())
                .add("blocks_per_event", (double) once.blocks() / once.events(), 2)
                .add("mops", Times.median(treeWall), 3)
                .add("mops_cpu", Times.median(treeCpu), 3)
                .add("decode_mops_cpu", Times.median(decodeCpu), 3)
                .add("chain_mops_cpu", Times.median(chainCpu), 3)
                .add("errors", byHash.unknownRemovals() + byChain.unknownRemovals());
    }

    /** Frames into one sink, for ever. */
    private final class Arm {
        private final Frames frames;
        private final KvEventSink sink;
        private final int turns;
        private final KvEventDecoder decoder = new KvEventDecoder();
        private long sequence;

        Arm(Frames frames, KvEventSink sink, int turns) {
            this.frames = frames;
            this.sink = sink;
            this.turns = turns;
        }

        Span round() {
            StopWatch watch = StopWatch.start(process);
            for (int turn = 0; turn < turns; turn++) {
                sequence = play(frames, sink, decoder, sequence);
            }
            return watch.stop();
        }
    }

    /** Plays all frames once and clears; gives the sequence after. */
    private static long play(Frames frames, KvEventSink sink, KvEventDecoder decoder, long first) {
        long sequence = first;
        for (byte[] payload : frames.payloads()) {
            if (!decoder.decode(payload, sequence++, sink)) {
                throw new IllegalStateException("A recorded frame was refused: " + decoder.refusal() + ".");
            }
        }
        sink.batchStarted(sequence++, 0);
        sink.cleared();
        sink.batchEnded();
        return sequence;
    }
}
