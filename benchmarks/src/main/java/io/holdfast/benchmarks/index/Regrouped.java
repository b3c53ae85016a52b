package io.holdfast.benchmarks.index;

import io.holdfast.benchmarks.CountingSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventDecoder;
import io.holdfast.events.KvEventEncoder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A recording's blocks, hashes and tokens, put together anew into events of {@value #BLOCKS_PER_EVENT} blocks each.
 *
 * <p>Each frame is one request: the blocks of a prompt that has gone leave, deepest first, and a new one of
 * {@value #EVENTS_PER_PROMPT} stores comes. Each block of the recording appears once.
 */
final class Regrouped extends CountingSink {
    private static final int BLOCKS_PER_EVENT = 8;
    private static final int EVENTS_PER_PROMPT = 4;
    private static final int PROMPTS_HELD = 8;

    private final Map<Long, int[]> tokens = new LinkedHashMap<>();

    private Regrouped() {}

    static Frames of(Frames recorded, KvEventEncoder.Dialect dialect) {
        Regrouped content = new Regrouped();
        KvEventDecoder decoder = new KvEventDecoder();
        long sequence = 0;
        for (byte[] payload : recorded.payloads()) {
            decoder.decode(payload, sequence++, content);
        }
        return new Frames(recorded.name() + "-long-events", recorded.traits(), content.encode(dialect));
    }

    @Override
    public void stored(StoredBlocks chain) {
        int size = chain.blockTokens();
        for (int i = 0; i < chain.count() && (i + 1) * size <= chain.tokenCount(); i++) {
            int[] block = new int[size];
            for (int j = 0; j < size; j++) {
                block[j] = chain.token(i * size + j);
            }
            tokens.putIfAbsent(chain.hash(i), block);
        }
    }

    private List<byte[]> encode(KvEventEncoder.Dialect dialect) {
        List<byte[]> payloads = new ArrayList<>();
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        long[] hashes = tokens.keySet().stream().mapToLong(Long::longValue).toArray();
        int perPrompt = BLOCKS_PER_EVENT * EVENTS_PER_PROMPT;
        for (int prompt = 0; (prompt + 1) * perPrompt <= hashes.length; prompt++) {
            if (prompt >= PROMPTS_HELD) {
                remove(encoder, hashes, (prompt - PROMPTS_HELD) * perPrompt);
            }
            store(encoder, hashes, prompt * perPrompt);
            payloads.add(encoder.finish(prompt, 0));
        }
        return payloads;
    }

    private static void remove(KvEventEncoder encoder, long[] hashes, int first) {
        long[] deepestFirst = new long[BLOCKS_PER_EVENT];
        for (int event = EVENTS_PER_PROMPT - 1; event >= 0; event--) {
            int last = first + (event + 1) * BLOCKS_PER_EVENT - 1;
            for (int i = 0; i < BLOCKS_PER_EVENT; i++) {
                deepestFirst[i] = hashes[last - i];
            }
            encoder.removed(deepestFirst, 0, BLOCKS_PER_EVENT, Tier.GPU, 0);
        }
    }

    private void store(KvEventEncoder encoder, long[] hashes, int first) {
        StoredBlocks chain = new StoredBlocks();
        for (int event = 0; event < EVENTS_PER_PROMPT; event++) {
            int from = first + event * BLOCKS_PER_EVENT;
            chain.reset();
            if (event > 0) {
                chain.under(hashes[from - 1]);
            }
            for (int i = from; i < from + BLOCKS_PER_EVENT; i++) {
                int[] block = tokens.getOrDefault(hashes[i], new int[0]);
                chain.add(hashes[i]).blockTokens(block.length);
                for (int token : block) {
                    chain.addToken(token);
                }
            }
            encoder.stored(chain);
        }
    }
}
