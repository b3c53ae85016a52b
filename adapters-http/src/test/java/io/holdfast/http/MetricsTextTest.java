package io.holdfast.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MetricsTextTest {
    @Test
    void samples_areSummedOverTheirLabels() {
        MetricsText metrics = MetricsText.parse("""
            # HELP sglang:cached_tokens_total Cached tokens.
            # TYPE sglang:cached_tokens_total counter
            sglang:cached_tokens_total{cache_source="device",model_name="m"} 12032.0
            sglang:cached_tokens_total{cache_source="host",model_name="m"} 3

            plain 1.5e3
            """);
        assertThat(metrics.sum("sglang:cached_tokens_total")).hasValue(12035);
        assertThat(metrics.sum("sglang:cached_tokens_total", "cache_source", "host"))
                .hasValue(3);
        assertThat(metrics.sum("sglang:cached_tokens_total", "cache_source", "total"))
                .isEmpty();
        assertThat(metrics.sum("plain")).hasValue(1500);
        assertThat(metrics.sum("absent")).isEmpty();
        assertThat(metrics.samples("absent")).isEmpty();
    }

    @Test
    void labelValues_mayHoldAnything() {
        MetricsText metrics = MetricsText.parse(
                "m{a=\"x,y}\\\"z\\\\\" , b=\"\",c=\"line\\nbreak\",} 7 1395066363000 # {t=\"1\"} 2\n");
        assertThat(metrics.samples("m"))
                .containsExactly(new MetricsText.Sample(Map.of("a", "x,y}\"z\\", "b", "", "c", "line\nbreak"), 7));
        assertThat(metrics.samples("m").getFirst().label("absent")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "m",
                "m{} ",
                "m{a=\"b\"}",
                "m{a=\"b} 1",
                "m{a=b} 1",
                "m{a} 1",
                "m{",
                "m one",
                "m NaN",
                "m +Inf",
                "m -Inf",
                "{a=\"b\"} 1",
                "# m 1"
            })
    void whatIsNoFiniteSample_isAbsent(String line) {
        assertThat(MetricsText.parse(line).sum("m")).isEmpty();
        assertThat(MetricsText.parse(line + "\nm{} 4").sum("m")).hasValue(4);
    }

    @Test
    void name_isThatOfTheWholeSample() {
        MetricsText metrics = MetricsText.parse(
                "m 1\r\n  m{of=\"m 2\"} 3\nmm 4\nm_sum 5\n# HELP m m 6\nn{m=\"1\"} 7 \n\tm{of=\"\\nm 8\"}\t9");
        assertThat(metrics.samples("m")).extracting(MetricsText.Sample::value).containsExactly(1.0, 3.0, 9.0);
        assertThat(metrics.sum("m_sum")).hasValue(5);
        assertThat(metrics.sum("n")).hasValue(7);
    }
}
