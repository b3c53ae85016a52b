package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Dialect;

/** Writes a frame anew as SGLang 0.5.17 and those before it published it. */
final class PageByPage implements KvEventSink {
    private final KvEventEncoder encoder = new KvEventEncoder(Dialect.SGLANG_ARRAYS);
    private long stampMicros;

    private PageByPage() {}

    static byte[] of(byte[] frame) {
        PageByPage pages = new PageByPage();
        KvEventDecoder decoder = new KvEventDecoder();
        assertThat(decoder.decode(frame, 0, pages)).as(decoder.refusal()).isTrue();
        return pages.encoder.finish(pages.stampMicros / 1e6, decoder.rank());
    }

    @Override
    public void batchStarted(long sequence, long micros) {
        stampMicros = micros;
    }

    @Override
    public void stored(StoredBlocks chain) {
        int size = chain.blockTokens();
        for (int i = 0; i < chain.count(); i++) {
            StoredBlocks page =
                    new StoredBlocks().blockTokens(size).in(chain.tier()).add(chain.hash(i));
            if (i > 0) {
                page.under(chain.hash(i - 1));
            } else if (!chain.rooted()) {
                page.under(chain.parent());
            }
            for (int token = i * size; token < (i + 1) * size; token++) {
                page.addToken(chain.token(token));
            }
            encoder.stored(page);
        }
    }

    @Override
    public void removed(long[] hashes, int from, int to, Tier tier, int group) {
        encoder.removed(hashes, from, to, tier, group);
    }

    @Override
    public void cleared() {
        encoder.cleared();
    }

    @Override
    public void batchEnded() {}

    @Override
    public void gap(Gap gap) {}

    @Override
    public void restarted(long seen) {}
}
