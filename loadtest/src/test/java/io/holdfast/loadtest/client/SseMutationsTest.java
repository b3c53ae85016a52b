package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

/** The streams that real servers sent, cut at every byte and spoiled. */
final class SseMutationsTest {
    private static final Path RECORDINGS =
            Path.of("..", "engine-rules", "src", "testing", "resources", "io", "holdfast", "rules", "recordings");
    private static final List<CompletionRoute> ROUTES = List.of(CompletionRoute.values());
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final int MUTATIONS = DEEP ? 100_000 : 5_000;

    @Test
    void recordedStreamsCutAtEveryByte_giveTheSameEvents() throws IOException {
        for (byte[] stream : streams()) {
            List<String> whole = scan(stream);
            assertThat(whole).isNotEmpty();
            for (int cut = 0; cut <= stream.length; cut++) {
                assertThat(scan(Arrays.copyOfRange(stream, 0, cut), Arrays.copyOfRange(stream, cut, stream.length)))
                        .as("cut at %d", cut)
                        .isEqualTo(whole);
            }
        }
    }

    @Test
    void spoiledStreams_endInEventsOrInOneOfTwoFaults() throws IOException {
        List<byte[]> streams = streams();
        SplittableRandom random = new SplittableRandom(20_261_123);
        int faults = 0;
        for (int i = 0; i < MUTATIONS; i++) {
            byte[] spoiled = spoil(streams.get(random.nextInt(streams.size())), random);
            int cut = random.nextInt(spoiled.length + 1);
            Reader reader = new Reader(ROUTES.get(random.nextInt(ROUTES.size())));
            SseScanner scanner = new SseScanner(reader);
            try {
                scanner.feed(Arrays.copyOfRange(spoiled, 0, cut));
                scanner.feed(Arrays.copyOfRange(spoiled, cut, spoiled.length));
                scanner.end();
            } catch (IllegalStateException longer) {
                faults++;
            }
            faults += reader.faults;
            assertThat(reader.bytes).as("of %s", i).isLessThanOrEqualTo(spoiled.length);
        }
        assertThat(faults).as("of the mutations, some are no JSON any more").isPositive();
    }

    /** Up to eight changes: bytes turned, cut out, doubled, or put in that mean something here. */
    private static byte[] spoil(byte[] from, SplittableRandom random) {
        byte[] bytes = from.clone();
        for (int change = random.nextInt(8); change >= 0 && bytes.length > 0; change--) {
            int at = random.nextInt(bytes.length);
            int until = Math.min(bytes.length, at + 1 + random.nextInt(40));
            bytes = switch (random.nextInt(5)) {
                case 0 -> {
                    bytes[at] = (byte) random.nextInt();
                    yield bytes;
                }
                case 1 -> join(Arrays.copyOf(bytes, at), Arrays.copyOfRange(bytes, until, bytes.length));
                case 2 -> join(Arrays.copyOf(bytes, until), Arrays.copyOfRange(bytes, at, bytes.length));
                case 3 -> {
                    byte[] put = List.of(
                                    "\n", "\r", "\n\n", "data:", "data: [DONE]\n\n", "{", "\"", ":", "\0", "\uFEFF")
                            .get(random.nextInt(10))
                            .getBytes(StandardCharsets.UTF_8);
                    yield join(join(Arrays.copyOf(bytes, at), put), Arrays.copyOfRange(bytes, at, bytes.length));
                }
                default -> Arrays.copyOf(bytes, at);
            };
        }
        return bytes;
    }

    private static byte[] join(byte[] head, byte[] tail) {
        byte[] joined = Arrays.copyOf(head, head.length + tail.length);
        System.arraycopy(tail, 0, joined, head.length, tail.length);
        return joined;
    }

    /** Every stream of the recordings as it was on the wire, the long ones cut off after some events. */
    private static List<byte[]> streams() throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        List<byte[]> streams = new ArrayList<>();
        for (String name : List.of("sglang_http.jsonl.gz", "vllm_http.jsonl.gz")) {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                    new GZIPInputStream(Files.newInputStream(RECORDINGS.resolve(name))), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    JsonNode recorded = mapper.readTree(line);
                    if (recorded.has("events")) {
                        streams.add(wire(recorded.path("events")));
                    }
                }
            }
        }
        assertThat(streams).hasSizeGreaterThan(40);
        return streams;
    }

    private static byte[] wire(JsonNode events) {
        StringBuilder text = new StringBuilder();
        int most = 6;
        for (JsonNode event : events) {
            if (most-- > 0) {
                text.append("data: ")
                        .append(event.isTextual() ? event.asText() : event.toString())
                        .append("\n\n");
            }
        }
        return text.append("data: [DONE]\n\n").toString().getBytes(StandardCharsets.UTF_8);
    }

    private static List<String> scan(byte[]... buffers) {
        List<String> events = new ArrayList<>();
        SseScanner scanner = new SseScanner(new SseScanner.Sink() {
            @Override
            public void data(byte[] bytes, int length) {
                events.add(new String(bytes, 0, length, StandardCharsets.UTF_8));
            }

            @Override
            public void done() {
                events.add("<done>");
            }
        });
        for (byte[] buffer : buffers) {
            scanner.feed(buffer);
        }
        scanner.end();
        return events;
    }

    /** Reads what it gets as a client does. */
    private static final class Reader implements SseScanner.Sink {
        private final CompletionRoute route;
        private int faults;
        private long bytes;

        Reader(CompletionRoute route) {
            this.route = route;
        }

        @Override
        public void data(byte[] event, int length) {
            bytes += length;
            try {
                route.read(event, length);
            } catch (IOException unreadable) {
                faults++;
            }
        }

        @Override
        public void done() {}
    }
}
