package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.buffer.Buffer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The streams that real servers sent, cut at every byte and spoiled. */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a loop without an end notices no interrupt
final class SseMutationsTest {
    private static final Path RECORDINGS =
            Path.of("..", "engine-rules", "src", "testing", "resources", "io", "holdfast", "rules", "recordings");
    private static final List<CompletionRoute> ROUTES = List.of(CompletionRoute.values());
    private static final boolean DEEP =
            System.getProperty("holdfast.scale", "slice").equals("deep");
    private static final int MUTATIONS = DEEP ? 100_000 : 2_000;
    /** No recorded answer is longer, so whoever counts more has a spoiled count. */
    private static final int MOST_TOKENS = 256;
    /** Bytes from one cut to the next where every event is read and not only found. */
    private static final int CUTS = DEEP ? 1 : 23;

    private static final Set<RequestStatus> ENDS =
            Set.of(RequestStatus.OK, RequestStatus.EMPTY, RequestStatus.BROKEN_STREAM, RequestStatus.IMPOSSIBLE);

    /** In two buffers, wherever the one ends, and byte by byte. */
    @Test
    void recordedStreamsCutAtEveryByte_giveTheSameEvents() throws IOException {
        for (Recording recording : recordings()) {
            byte[] stream = recording.bytes();
            List<String> whole = scan(stream);
            assertThat(whole).as("of %s", recording.name()).isNotEmpty();
            for (int cut = 0; cut <= stream.length; cut++) {
                assertThat(scan(Arrays.copyOfRange(stream, 0, cut), Arrays.copyOfRange(stream, cut, stream.length)))
                        .as("%s cut at %d", recording.name(), cut)
                        .isEqualTo(whole);
            }
            assertThat(scan(singleBytes(stream)))
                    .as("%s byte by byte", recording.name())
                    .isEqualTo(whole);
        }
    }

    /** What became of the request, with its tokens as the engine counted them, does not depend on the buffers either. */
    @Test
    void recordedStreamsCutAnywhere_giveTheSameRecordAndTokens() throws IOException {
        int told = 0;
        for (Recording recording : recordings()) {
            byte[] stream = recording.bytes();
            Read whole = read(recording.route(), stream);
            if (recording.fails()) {
                assertThat(whole.status()).as(recording.name()).isEqualTo(RequestStatus.BROKEN_STREAM);
            } else if (recording.tokens().isPresent()) {
                told++;
                assertThat(whole.status()).as(recording.name()).isEqualTo(RequestStatus.OK);
                assertThat(whole.completionTokens()).as(recording.name()).isEqualTo(recording.tokens());
                assertThat(whole.tokens().stream().mapToInt(Integer::intValue).sum())
                        .as("stamped tokens of %s", recording.name())
                        .isBetween(1, recording.tokens().getAsInt());
            }
            for (int cut = 0; cut <= stream.length; cut += CUTS) {
                assertThat(read(
                                recording.route(),
                                Arrays.copyOfRange(stream, 0, cut),
                                Arrays.copyOfRange(stream, cut, stream.length)))
                        .as("%s cut at %d", recording.name(), cut)
                        .isEqualTo(whole);
            }
            assertThat(read(recording.route(), singleBytes(stream)))
                    .as("%s byte by byte", recording.name())
                    .isEqualTo(whole);
        }
        assertThat(told).as("recordings whose engine counted").isGreaterThanOrEqualTo(20);
    }

    /**
     * Whatever bytes come, the request ends as one of four things, by those bytes and not by how they were cut. The events are
     * those that a reader of whole texts finds in them, the count of tokens is the last that these tell, and no more chunks are
     * stamped than bring something.
     */
    @Test
    void spoiledStreams_endAsRecordsOfTheirBytesAlone() throws IOException {
        List<Recording> recordings = recordings();
        SplittableRandom random = new SplittableRandom(20_261_123);
        Map<RequestStatus, Integer> ends = new EnumMap<>(RequestStatus.class);
        for (int i = 0; i < MUTATIONS; i++) {
            Recording recording = recordings.get(random.nextInt(recordings.size()));
            byte[] spoiled = spoil(recording.bytes(), random);
            // One in four is read as another route's.
            CompletionRoute route =
                    random.nextInt(4) == 0 ? ROUTES.get(random.nextInt(ROUTES.size())) : recording.route();
            int cut = random.nextInt(spoiled.length + 1);
            Read whole = read(route, spoiled);
            assertThat(read(
                            route,
                            Arrays.copyOfRange(spoiled, 0, cut),
                            Arrays.copyOfRange(spoiled, cut, spoiled.length)))
                    .as("mutation %d of %s, cut at %d", i, recording.name(), cut)
                    .isEqualTo(whole);
            List<String> events = scan(spoiled);
            assertThat(events).as("mutation %d of %s", i, recording.name()).isEqualTo(plainEvents(spoiled));
            assertThat(whole.tokens())
                    .as("mutation %d", i)
                    .hasSizeLessThanOrEqualTo(events.size())
                    .allMatch(tokens -> tokens > 0);
            if (whole.status() == RequestStatus.OK) {
                assertThat(whole.tokens()).as("mutation %d", i).isNotEmpty();
                assertThat(whole.completionTokens())
                        .as("mutation %d of %s", i, recording.name())
                        .isEqualTo(lastCount(route, events));
                assertThat(whole.completionTokens().orElse(1))
                        .as("mutation %d", i)
                        .isBetween(1, MOST_TOKENS);
            }
            ends.merge(whole.status(), 1, Integer::sum);
        }
        assertThat(ends.keySet()).isSubsetOf(ENDS).contains(RequestStatus.OK, RequestStatus.BROKEN_STREAM);
    }

    /** What is in a text of server-sent events by the letter of their grammar, read at once and as slowly as it takes. */
    private static List<String> plainEvents(byte[] stream) {
        String text = new String(stream, StandardCharsets.ISO_8859_1);
        if (text.startsWith("\u00EF\u00BB\u00BF")) {
            text = text.substring(3);
        }
        List<String> events = new ArrayList<>();
        List<String> data = new ArrayList<>();
        // The end counts as an empty line: real servers leave the last one out.
        for (String line : (text + "\n\n").split("\r\n|\n|\r", -1)) {
            if (line.isEmpty() && !data.isEmpty()) {
                String event = new String(
                        String.join("\n", data).getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
                events.add(event.equals("[DONE]") ? "<done>" : event);
                data.clear();
            } else if (line.equals("data")) {
                data.add("");
            } else if (line.startsWith("data:")) {
                data.add(line.substring(line.startsWith("data: ") ? 6 : 5));
            }
        }
        return events;
    }

    /** The tokens of the answer, as the last event says that counts them. */
    private static OptionalInt lastCount(CompletionRoute route, List<String> events) throws IOException {
        OptionalInt last = OptionalInt.empty();
        for (String event : events) {
            if (!event.equals("<done>")) {
                JsonNode count = new ObjectMapper()
                        .readTree(event.getBytes(StandardCharsets.UTF_8))
                        .path(route == CompletionRoute.SGLANG_GENERATE ? "meta_info" : "usage")
                        .path("completion_tokens");
                if (count.isIntegralNumber() && count.canConvertToInt() && count.intValue() >= 0) {
                    last = OptionalInt.of(count.intValue());
                }
            }
        }
        return last;
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

    /**
     * A stream that a real server sent.
     *
     * @param tokens as the engine counted them, where it did
     * @param fails whether the engine said in it that it failed
     */
    private record Recording(String name, CompletionRoute route, String text, OptionalInt tokens, boolean fails) {
        byte[] bytes() {
            return text.getBytes(StandardCharsets.UTF_8);
        }
    }

    private static List<Recording> recordings() throws IOException {
        ObjectMapper mapper = new ObjectMapper();
        List<Recording> recordings = new ArrayList<>();
        for (String name : List.of("sglang_http.jsonl.gz", "vllm_http.jsonl.gz")) {
            try (BufferedReader lines = new BufferedReader(new InputStreamReader(
                    new GZIPInputStream(Files.newInputStream(RECORDINGS.resolve(name))), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    JsonNode recorded = mapper.readTree(line);
                    if (!recorded.path("events").isEmpty()) {
                        recordings.add(recording(recorded));
                    }
                }
            }
        }
        assertThat(recordings).hasSizeGreaterThan(40);
        return recordings;
    }

    private static Recording recording(JsonNode recorded) {
        String request = recorded.path("request").asText();
        CompletionRoute route = request.contains("/generate ")
                ? CompletionRoute.SGLANG_GENERATE
                : request.contains("/chat/") ? CompletionRoute.OPENAI_CHAT : CompletionRoute.OPENAI_COMPLETIONS;
        StringBuilder text = new StringBuilder();
        OptionalInt tokens = OptionalInt.empty();
        boolean fails = false;
        for (JsonNode event : recorded.path("events")) {
            text.append("data: ")
                    .append(event.isTextual() ? event.asText() : event.toString())
                    .append("\n\n");
            JsonNode counted = event.path(route == CompletionRoute.SGLANG_GENERATE ? "meta_info" : "usage")
                    .path("completion_tokens");
            tokens = counted.isInt() ? OptionalInt.of(counted.asInt()) : tokens;
            fails |= event.path("error").isObject();
        }
        return new Recording(recorded.path("case").asText(), route, text.toString(), tokens, fails);
    }

    private static byte[][] singleBytes(byte[] stream) {
        byte[][] single = new byte[stream.length][];
        for (int i = 0; i < stream.length; i++) {
            single[i] = new byte[] {stream[i]};
        }
        return single;
    }

    /** What a client makes of a stream, without the stamps of a clock. */
    private record Read(
            RequestStatus status,
            OptionalInt promptTokens,
            OptionalInt completionTokens,
            OptionalInt cachedTokens,
            List<Integer> tokens,
            Optional<String> output,
            String problem) {}

    private static Read read(CompletionRoute route, byte[]... buffers) {
        AtomicLong clock = new AtomicLong();
        Exchange exchange = new Exchange(
                0, new LoadRequest(Role.PROBE, 1, new int[] {1, 2, 3}, MOST_TOKENS), route, clock::incrementAndGet, 0);
        exchange.sending();
        exchange.head(200);
        for (byte[] buffer : buffers) {
            exchange.body(Buffer.buffer(buffer));
            exchange.read();
        }
        exchange.ended();
        RequestRecord record = exchange.whole();
        return new Read(
                record.status(),
                record.promptTokens(),
                record.completionTokens(),
                record.cachedTokens(),
                Arrays.stream(record.tokens().tokens()).boxed().toList(),
                record.output(),
                record.problem());
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
}
