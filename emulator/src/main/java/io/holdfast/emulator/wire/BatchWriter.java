package io.holdfast.emulator.wire;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.events.KvEventEncoder;
import io.holdfast.events.KvEventEncoder.Details;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Tokens;
import java.util.List;
import java.util.Optional;

/** Puts batches of a cache's events into the bytes that its engine would send. */
final class BatchWriter {
    private final KvEventEncoder encoder;
    private final StoredBlocks chain = new StoredBlocks();

    BatchWriter(Dialect dialect) {
        encoder = new KvEventEncoder(dialect);
    }

    byte[] write(List<CacheEvent> batch, double unixSeconds, int rank) {
        for (CacheEvent event : batch) {
            switch (event) {
                case CacheEvent.Stored stored -> encoder.stored(chain(stored), details(stored));
                case CacheEvent.Removed removed -> remove(removed);
                case CacheEvent.Cleared _ -> encoder.cleared();
            }
        }
        return encoder.finish(unixSeconds, rank);
    }

    private void remove(CacheEvent.Removed removed) {
        List<byte[]> digests = digests(removed.blocks());
        if (digests.isEmpty()) {
            long[] blocks = removed.blocks().stream().mapToLong(BlockName::hash).toArray();
            encoder.removed(blocks, 0, blocks.length, removed.tier(), 0);
        } else {
            encoder.removed(digests, removed.tier(), 0);
        }
    }

    private StoredBlocks chain(CacheEvent.Stored stored) {
        chain.reset().blockTokens(stored.blockTokens()).in(stored.tier());
        stored.parent().ifPresent(parent -> chain.under(parent.hash()));
        stored.blocks().forEach(block -> chain.add(block.hash()));
        Tokens tokens = stored.tokens();
        for (int i = 0; i < tokens.size(); i++) {
            chain.addToken(tokens.get(i));
        }
        return chain;
    }

    private static Details details(CacheEvent.Stored stored) {
        Optional<byte[]> parent = stored.parent()
                .filter(BlockName.Digest.class::isInstance)
                .map(name -> ((BlockName.Digest) name).bytes());
        return new Details(stored.salt(), stored.session(), digests(stored.blocks()), parent);
    }

    private static List<byte[]> digests(List<BlockName> blocks) {
        return blocks.stream()
                .filter(BlockName.Digest.class::isInstance)
                .map(name -> ((BlockName.Digest) name).bytes())
                .toList();
    }
}
