package io.holdfast.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which releases are told apart. */
final class EngineVersionTest {
    @ParameterizedTest
    @CsvSource({
        "0.5.17, 0.5.17",
        "v0.5.17.post1, 0.5.17",
        "0.32, 0.32.0",
        "0.22.1+cpu, 0.22.1",
        "0.23.1.dev0, 0.23.1",
        "0.10.0rc0, 0.10.0",
    })
    void textOfAnEngine_isItsRelease(String text, String release) {
        assertThat(EngineVersion.parse(text)).map(EngineVersion::toString).contains(release);
    }

    @ParameterizedTest
    @CsvSource({"main", "''", "7", "0.x", "a1.2.3"})
    void textWithoutARelease_namesNone(String text) {
        assertThat(EngineVersion.parse(text)).isEmpty();
    }

    @Test
    void releases_areOrderedByNumber() {
        EngineVersion nine = new EngineVersion(0, 5, 9);
        EngineVersion ten = new EngineVersion(0, 5, 10);
        assertThat(nine.isBefore(ten)).isTrue();
        assertThat(ten.isBefore(nine)).isFalse();
        assertThat(ten.isBefore(ten)).isFalse();
        assertThat(ten.isBefore(new EngineVersion(0, 6, 0))).isTrue();
        assertThat(new EngineVersion(1, 0, 0).isBefore(ten)).isFalse();
    }
}
