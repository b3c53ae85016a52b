package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.workload.Role;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DecodeStepsTest {
    private static final int TOKENS = 64;

    /** Requests that begin one prefill after another; while fewer than all of them run a step is three times as fast. */
    private static List<RequestRecord> batch(int batch, double stepMillis) {
        long step = Math.round(1e6 * stepMillis);
        List<RequestRecord> records = new ArrayList<>();
        for (int i = 0; i < batch; i++) {
            long[] stamps = new long[TOKENS];
            stamps[0] = 10_000_000L + i * step;
            for (int token = 1; token < TOKENS; token++) {
                boolean full = i + token >= batch && i + token < TOKENS;
                stamps[token] = stamps[token - 1] + (full ? step : step / 3);
            }
            int[] counts = new int[TOKENS];
            Arrays.fill(counts, 1);
            records.add(new RequestRecord(
                    i,
                    Role.PROBE,
                    0,
                    RequestStatus.OK,
                    0,
                    0,
                    OptionalLong.of(stamps[0]),
                    OptionalLong.of(stamps[0]),
                    OptionalLong.of(stamps[TOKENS - 1]),
                    stamps[TOKENS - 1],
                    OptionalInt.empty(),
                    OptionalInt.of(TOKENS),
                    OptionalInt.empty(),
                    "",
                    OptionalInt.empty(),
                    OptionalLong.empty(),
                    TokenStamps.of(stamps, counts, TOKENS)));
        }
        return records;
    }

    @ParameterizedTest
    @CsvSource({"1, 17.9", "8, 31.6", "1, 10.8", "8, 15.3", "1, 10.0", "8, 12.9"})
    void stepOfABatch_isThatOfAFullOne(int batch, double millis) {
        DecodeSteps steps = DecodeSteps.of(batch, batch(batch, millis), List.of());
        assertThat(steps.batch()).isEqualTo(batch);
        assertThat(steps.medianMillis()).isCloseTo(millis, within(0.05 * millis));
        assertThat(steps.gaps()).isBetween(30, batch * (TOKENS - 1));
    }

    @Test
    void batchThatNeverRunsTogether_isRefusedWithAMend() {
        List<RequestRecord> apart = batch(2, 10).stream()
                .map(record -> record.since(-record.number() * 10_000_000_000L))
                .toList();
        assertThatThrownBy(() -> DecodeSteps.of(2, apart, List.of()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("ask for more tokens");
    }
}
