package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.workload.Role;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

final class TokenStampsTest {
    @Test
    void chunks_areGapsInMicrosecondsWithTheirTokens() {
        TokenStamps stamps = TokenStamps.of(new long[] {5_000_400, 15_000_000, 25_021_900}, new int[] {1, 1, 3}, 3);
        assertThat(stamps.text()).isEqualTo("0 10000 10022*3");
        assertThat(stamps.tokens()).containsExactly(1, 1, 3);
        assertThat(stamps.gapsMillis()).containsExactly(10.0, 10.022);
        assertThat(stamps.perTokenMillis()).containsExactly(10.0, 10.022 / 3, 10.022 / 3, 10.022 / 3);
    }

    @Test
    void roundingOfManyGaps_doesNotAddUp() {
        int chunks = 10_000;
        long[] stamps = new long[chunks];
        int[] tokens = new int[chunks];
        Arrays.fill(tokens, 1);
        Arrays.setAll(stamps, i -> i * 1_499L);
        double all = Arrays.stream(TokenStamps.of(stamps, tokens, chunks).gapsMillis())
                .sum();
        assertThat(all).isCloseTo(stamps[chunks - 1] / 1e6, within(0.001));
    }

    @Test
    void nothingKnown_hasNoGaps() {
        assertThat(TokenStamps.none().tokens()).isEmpty();
        assertThat(TokenStamps.none().gapsMillis()).isEmpty();
        assertThat(TokenStamps.none().perTokenMillis()).isEmpty();
    }

    @Test
    void otherText_isRefused() {
        assertThatThrownBy(() -> new TokenStamps("0 ten")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void latencies_areKeptFromBothOrigins() {
        RequestRecord record = record(OptionalInt.of(3), "0 4000 6000");
        assertThat(record.ttftMillis()).hasValue(8);
        assertThat(record.ttftFromScheduleMillis()).hasValue(11);
        assertThat(record.ttfoMillis()).hasValue(12);
        assertThat(record.endToEndMillis()).hasValue(18);
        assertThat(record.endToEndFromScheduleMillis()).hasValue(21);
        assertThat(record.tpotMillis()).hasValue(5);
        assertThat(record.itlMillis()).containsExactly(4, 6);
    }

    @Test
    void recordFromAnotherOrigin_hasTheSameLatencies() {
        RequestRecord record = record(OptionalInt.of(3), "0 4000 6000");
        RequestRecord later = record.since(-5_000_000_000L);
        assertThat(later.scheduled()).isEqualTo(5_001_000_000L);
        assertThat(later.done()).isEqualTo(5_023_000_000L);
        assertThat(later.firstByte()).hasValue(5_012_000_000L);
        assertThat(later.ttftMillis()).isEqualTo(record.ttftMillis());
        assertThat(later.ttftFromScheduleMillis()).isEqualTo(record.ttftFromScheduleMillis());
        assertThat(later.ttfoMillis()).isEqualTo(record.ttfoMillis());
        assertThat(later.endToEndMillis()).isEqualTo(record.endToEndMillis());
        assertThat(later.since(5_000_000_000L)).isEqualTo(record);
    }

    @Test
    void chunksThatDoNotAddUp_areNoTimesPerToken() {
        RequestRecord record = record(OptionalInt.of(7), "0 4000 6000");
        assertThat(record.itlMillis()).isEmpty();
        assertThat(record.tokens().gapsMillis()).containsExactly(4, 6);
    }

    private static RequestRecord record(OptionalInt completed, String tokens) {
        return new RequestRecord(
                0,
                Role.PROBE,
                1,
                RequestStatus.OK,
                1_000_000,
                4_000_000,
                OptionalLong.of(12_000_000),
                OptionalLong.of(12_000_000),
                OptionalLong.of(22_000_000),
                23_000_000,
                OptionalInt.of(5),
                completed,
                OptionalInt.empty(),
                "",
                OptionalInt.of(5),
                OptionalLong.of(16_000_000),
                new TokenStamps(tokens));
    }
}
