package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

final class SseScannerTest {
    private static final String DONE = "<done>";

    static Stream<Arguments> streams() {
        return Stream.of(
                Arguments.of("line feeds", "data: {\"a\":1}\n\ndata: {\"b\":2}\n\n", List.of("{\"a\":1}", "{\"b\":2}")),
                Arguments.of("both line ends", "data: a\r\n\r\ndata: b\r\n\r\n", List.of("a", "b")),
                Arguments.of("carriage returns", "data: a\r\rdata: b\r\r", List.of("a", "b")),
                Arguments.of("mixed line ends", "data: a\n\r\ndata: b\r\n\ndata: c\r\n\r\n", List.of("a", "b", "c")),
                Arguments.of("comments", ": hello\n\ndata: a\n: in between\n\n:\n\n", List.of("a")),
                Arguments.of("no space", "data:a\n\ndata:  two spaces\n\n", List.of("a", " two spaces")),
                Arguments.of(
                        "data over lines", "data: one\ndata: two\ndata:\ndata: four\n\n", List.of("one\ntwo\n\nfour")),
                Arguments.of("other fields", "event: x\nid: 7\ndata: a\nretry: 5\nnonsense\n\n", List.of("a")),
                Arguments.of("names that begin alike", "database: x\ndatum\ndata: a\n\n", List.of("a")),
                Arguments.of("data without a colon", "data\ndata: a\n\ndata\n\n", List.of("\na", "")),
                Arguments.of("the end mark", "data: a\n\ndata: [DONE]\n\n", List.of("a", DONE)),
                Arguments.of("the end mark without a space", "data:[DONE]\r\n\r\n", List.of(DONE)),
                Arguments.of("several bytes a character", "data: héß 漢字 🦊\n\ndata: ñ\n\n", List.of("héß 漢字 🦊", "ñ")),
                Arguments.of("no last empty line", "data: a\n\ndata: b\n", List.of("a", "b")),
                Arguments.of("no last line end", "data: a\n\ndata: b", List.of("a", "b")),
                Arguments.of("a byte order mark", "\uFEFFdata: a\n\n", List.of("a")),
                Arguments.of("nothing", "", List.of()),
                Arguments.of("only empty lines", "\n\n\r\n\n", List.of()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("streams")
    void anyTwoBuffers_giveTheSameEvents(String name, String text, List<String> events) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int cut = 0; cut <= bytes.length; cut++) {
            assertThat(scan(Arrays.copyOfRange(bytes, 0, cut), Arrays.copyOfRange(bytes, cut, bytes.length)))
                    .as("cut at %d", cut)
                    .isEqualTo(events);
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("streams")
    void singleBytes_giveTheSameEvents(String name, String text, List<String> events) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        byte[][] single = new byte[bytes.length][];
        for (int i = 0; i < bytes.length; i++) {
            single[i] = new byte[] {bytes[i]};
        }
        assertThat(scan(single)).isEqualTo(events);
    }

    @Test
    void longStreamInRandomBuffers_givesAllEvents() {
        SplittableRandom random = new SplittableRandom(7);
        List<String> events = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 500; i++) {
            String event = "{\"n\":" + i + ",\"text\":\"" + "ü".repeat(random.nextInt(900)) + "\"}";
            events.add(event);
            text.append("data: ").append(event).append(random.nextBoolean() ? "\n\n" : "\r\n\r\n");
        }
        byte[] bytes = text.toString().getBytes(StandardCharsets.UTF_8);
        List<byte[]> buffers = new ArrayList<>();
        int from = 0;
        while (from < bytes.length) {
            int to = Math.min(bytes.length, from + 1 + random.nextInt(3000));
            buffers.add(Arrays.copyOfRange(bytes, from, to));
            from = to;
        }
        assertThat(scan(buffers.toArray(byte[][]::new))).isEqualTo(events);
    }

    @Test
    void endlessEvent_isRefused() {
        SseScanner scanner = new SseScanner(new Collector());
        byte[] part = new byte[1 << 20];
        Arrays.fill(part, (byte) 'x');
        assertThatThrownBy(() -> {
                    for (int i = 0; i < 20; i++) {
                        scanner.feed(part);
                    }
                })
                .isInstanceOf(SseScanner.EndlessEventException.class)
                .hasMessageContaining("longer than");
    }

    private static List<String> scan(byte[]... buffers) {
        Collector collector = new Collector();
        SseScanner scanner = new SseScanner(collector);
        for (byte[] buffer : buffers) {
            scanner.feed(buffer);
        }
        scanner.end();
        return collector.events;
    }

    private static final class Collector implements SseScanner.Sink {
        private final List<String> events = new ArrayList<>();

        @Override
        public void data(byte[] bytes, int length) {
            events.add(new String(bytes, 0, length, StandardCharsets.UTF_8));
        }

        @Override
        public void done() {
            events.add(DONE);
        }
    }
}
