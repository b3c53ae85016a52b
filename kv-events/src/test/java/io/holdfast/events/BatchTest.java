package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a batch says of itself beside its events: when it was made, and by which data-parallel rank. */
final class BatchTest {
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final EventLog log = new EventLog();

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1700000000.5 | 1700000000500000",
                "1763748559.3261015 | 1763748559326102",
                "1700000000 | 1700000000000000",
                "0 | 0",
                "null | 0",
                "-1.5 | 0",
                "1e300 | 0",
                "true | 0"
            })
    void stampOfTheBatch_isInMicroseconds(String seconds, long micros) {
        assertThat(decoder.decode(Packed.json("[%s, [], 0]".formatted(seconds)), 9, log))
                .isTrue();
        assertThat(log.stampMicros()).isEqualTo(micros);
    }

    @Test
    void stampOfFourBytes_isRead() {
        assertThat(decoder.decode(HexFormat.of().parseHex("92ca3fc0000090"), 9, log))
                .isTrue();
        assertThat(log.stampMicros()).isEqualTo(1_500_000);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[1.5, [], 3] | 3",
                "[1.5, [], 300, 'more'] | 300",
                "[1.5, [], null] | -1",
                "[1.5, []] | -1",
                "[1.5, [], -2] | -1",
                "[1.5, [], 'a'] | -1",
                "[1.5, [], 4294967296] | -1",
                "{'ts': 1.5, 'events': [], 'data_parallel_rank': 2} | 2",
                "{'attn_dp_rank': 4, 'ts': 1.5, 'events': []} | 4",
                "{'events': []} | -1"
            })
    void rankOfTheBatch_isToldWhenItIsThere(String batch, int rank) {
        assertThat(decoder.read(Packed.json("[1.5, [], 7]"))).isTrue();
        assertThat(decoder.rank()).isEqualTo(7);
        assertThat(decoder.read(Packed.json(batch))).isTrue();
        assertThat(decoder.rank()).isEqualTo(rank);
    }

    @Test
    void rankOfARefusedBatch_isNone() {
        assertThat(decoder.read(Packed.json("[1.5, [], 7, []]"))).isTrue();
        assertThat(decoder.read(Packed.json("[1.5, [['BlockRemoved']], 7]"))).isFalse();
        assertThat(decoder.rank()).isEqualTo(-1);
    }
}
