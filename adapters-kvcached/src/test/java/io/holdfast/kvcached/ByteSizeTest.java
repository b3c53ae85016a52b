package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ByteSizeTest {
    @ParameterizedTest
    @CsvSource({
        "512M, 536870912",
        "2G, 2147483648",
        "1.5g, 1610612736",
        "100_000, 100000",
        "'1,024kb', 1048576",
        "7b, 7",
        "0, 0",
        "42949672961, 42949672961",
        "144 MB, 150994944"
    })
    void size_isReadAsKvctlReadsIt(String written, long bytes) {
        assertThat(ByteSize.parse(written)).hasValue(bytes);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "1T", "G", "-1", "1e9", "0x10", "1.2.3", "1 2", "99999999999999999999", "9999999999999G"})
    void whatIsNoSize_isAbsent(String written) {
        assertThat(ByteSize.parse(written)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"1000, '1,000 bytes'", "16777216, 16 MiB", "1610612744, '1,536.0 MiB'", "42949672960, '40,960 MiB'"})
    void text_isMebibytes(long bytes, String text) {
        assertThat(ByteSize.text(bytes)).isEqualTo(text);
    }
}
