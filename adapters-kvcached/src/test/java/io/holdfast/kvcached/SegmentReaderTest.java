package io.holdfast.kvcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.kvcached.SegmentReading.Segment;
import io.holdfast.kvcached.SegmentReading.Unknown;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files as kvcached's own code writes them. */
final class SegmentReaderTest {
    @TempDir
    private Path directory = Path.of("");

    @ParameterizedTest(name = "{0}")
    @CsvSource({
        "fresh 40 GiB, 000000000a00000000000000000000000000000000000000, 42949672960, 0, 0",
        "in use, 000000000a00000000000048000000000000801600000000, 42949672960, 1207959552, 377487360",
        "limit of 8 GiB, 000000000200000000000048000000000000801600000000, 8589934592, 1207959552, 377487360",
        "limit below use, 000000400000000000000048000000000000801600000000, 1073741824, 1207959552, 377487360",
        "limit of 1.5 GiB, 000000600000000000000048000000000000801600000000, 1610612736, 1207959552, 377487360",
        "odd limit, a08601000000000000000048000000000000801600000000, 100000, 1207959552, 377487360",
        "byte order, 080706050403020118171615141312112827262524232221,"
                + " 72623859790382856, 1230066625199609624, 2387509390608836392",
        "one page, 000000600000000000000001000000000000000500000000, 1610612736, 16777216, 83886080",
        "restored, 080000600000000000000001000000000000000500000000, 1610612744, 16777216, 83886080",
        "largest, ffffffffffffff7f00000000000000000000000000000000, 9223372036854775807, 0, 0"
    })
    void segment_isItsThreeNumbers(String name, String hex, long limit, long used, long preallocated)
            throws IOException {
        assertThat(SegmentReader.read(segment(hex))).isEqualTo(new Segment(limit, used, preallocated));
    }

    @ParameterizedTest
    @CsvSource({
        "ffffffffffffffff00000048000000000000801600000000, a limit of -1 bytes",
        "000000000000000000000048000000000000801600000000, a limit of 0 bytes",
        "fffffffffffffffffefffffffffffffffdffffffffffffff, a limit of -1 bytes",
        "000000000a000000feffffffffffffff0000801600000000, less than nothing",
        "000000000a000000000000480000000000000000000000ff, less than nothing"
    })
    void impossibleNumbers_areUnknown(String hex, String reason) throws IOException {
        assertThat(SegmentReader.read(segment(hex)))
                .isInstanceOfSatisfying(
                        Unknown.class, unknown -> assertThat(unknown.why()).contains(reason));
    }

    @Test
    void absentFile_isAnAbsentEngine_andIsNotCreated() {
        Path file = directory.resolve("kvc");
        assertThat(SegmentReader.read(file))
                .isEqualTo(new Unknown(
                        "There is no segment " + file + ": no kvcached engine of that name is running on this host."));
        assertThat(file).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 23, 25, 4096})
    void fileOfAnotherSize_isNoSegment(int size) throws IOException {
        Path file = Files.write(directory.resolve("kvc"), new byte[size]);
        assertThat(SegmentReader.read(file))
                .isEqualTo(new Unknown("The file " + file + " has " + size + " bytes; a kvcached segment has 24."));
        assertThat(file).hasSize(size);
    }

    @Test
    void directory_isNoSegment() {
        assertThat(SegmentReader.read(directory))
                .isEqualTo(new Unknown(directory + " is a directory, no kvcached segment."));
    }

    @Test
    void replacedFile_isReadAnew() throws IOException {
        Path file = segment("000000000a00000000000048000000000000801600000000");
        assertThat(SegmentReader.read(file)).isEqualTo(new Segment(42949672960L, 1207959552, 377487360));
        Files.delete(file);
        assertThat(SegmentReader.read(file)).isInstanceOf(Unknown.class);
        segment("000000600000000000000001000000000000000500000000");
        assertThat(SegmentReader.read(file)).isEqualTo(new Segment(1610612736, 16777216, 83886080));
    }

    @ParameterizedTest
    @CsvSource({
        "kvc_qwen3-0.6b, kvc_qwen3-0-6b",
        "meta-llama/Llama-3.2-1B, meta-llama-Llama-3-2-1B",
        "../etc/passwd, ---etc-passwd",
        "0123456789012345678901234567890123456789012345678901234567890123456789,"
                + " 0123456789012345678901234567890123456789012345678901234567890123"
    })
    void name_isWrittenAsTheEngineDoes(String name, String file) {
        assertThat(SegmentReader.path(name)).isEqualTo(Path.of("/dev/shm", file));
    }

    @Test
    void emptyName_isRefused() {
        assertThatThrownBy(() -> SegmentReader.path(""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("A kvcached segment has a name; this one is empty.");
    }

    private Path segment(String hex) throws IOException {
        return Files.write(directory.resolve("kvc"), HexFormat.of().parseHex(hex));
    }
}
