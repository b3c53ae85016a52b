package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.KvEventEncoder.Details;
import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Seeded frames in every dialect: what was written is what is read. */
final class CodecRoundTripTest {
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final Tier[] TIERS = Tier.values();

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void whatWasWritten_isRead(Dialect dialect) {
        SplittableRandom random = new SplittableRandom(20261121);
        KvEventEncoder encoder = new KvEventEncoder(dialect);
        KvEventDecoder decoder = new KvEventDecoder();
        for (int frame = 0; frame < (DEEP ? 20_000 : 1000); frame++) {
            List<String> written = new ArrayList<>();
            written.add("batch " + frame);
            write(random, encoder, dialect, written);
            written.add("end");
            EventLog log = new EventLog();
            assertThat(decoder.decode(encoder.finish(frame, frame % 5), frame, log))
                    .as(decoder.refusal())
                    .isTrue();
            assertThat(log.lines()).isEqualTo(written);
            assertThat(decoder.rank()).isEqualTo(frame % 5);
        }
        assertThat(decoder.unknownEvents()).isZero();
    }

    private static void write(SplittableRandom random, KvEventEncoder encoder, Dialect dialect, List<String> written) {
        boolean vllm = dialect == Dialect.VLLM_MAPS || dialect == Dialect.VLLM_ARRAYS;
        for (int events = random.nextInt(6); events > 0; events--) {
            switch (random.nextInt(5)) {
                case 0 -> {
                    encoder.cleared();
                    written.add("cleared");
                }
                case 1 -> {
                    long[] gone = new long[20];
                    int count = 1 + random.nextInt(gone.length);
                    for (int i = 0; i < count; i++) {
                        gone[i] = number(random);
                    }
                    Tier tier = TIERS[random.nextInt(TIERS.length)];
                    int group = vllm ? random.nextInt(3) : 0;
                    encoder.removed(gone, 0, count, tier, group);
                    written.add(EventLog.textOfRemoved(gone, 0, count, tier, group));
                }
                default -> {
                    StoredBlocks chain = chain(random);
                    if (dialect == Dialect.TENSORRT_LLM) {
                        // It says no salt at all.
                        chain.namespaced(false);
                    }
                    if (vllm) {
                        // Only where a prompt begins does vLLM say its salt.
                        chain.group(random.nextInt(3)).windowed(random.nextBoolean());
                        chain.namespaced(chain.namespaced() && chain.rooted());
                    }
                    encoder.stored(
                            chain, chain.namespaced() ? Details.salt("tenant-" + random.nextInt(3)) : Details.NONE);
                    written.add(EventLog.textOfStored(chain));
                }
            }
        }
    }

    private static StoredBlocks chain(SplittableRandom random) {
        int blockTokens = random.nextInt(1, 20);
        StoredBlocks chain = new StoredBlocks()
                .reset()
                .blockTokens(blockTokens)
                .in(TIERS[random.nextInt(TIERS.length)])
                .namespaced(random.nextInt(4) == 0);
        if (random.nextBoolean()) {
            chain.under(number(random));
        }
        for (int blocks = random.nextInt(1, 40); blocks > 0; blocks--) {
            chain.add(number(random));
            for (int i = 0; i < blockTokens; i++) {
                chain.addToken((int) number(random));
            }
        }
        return chain;
    }

    /** Numbers of every width on the wire, the signed and unsigned edges more often than chance. */
    private static long number(SplittableRandom random) {
        long edge = 1L << random.nextInt(64);
        return switch (random.nextInt(4)) {
            case 0 -> edge - 1;
            case 1 -> edge;
            case 2 -> -edge;
            default -> random.nextLong();
        };
    }
}
