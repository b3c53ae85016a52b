package io.holdfast.loadtest.trace;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.core.cost.CostSampler;
import io.holdfast.core.cost.PrefillCost;
import io.holdfast.core.head.UnstableHeads;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.events.KvEventDecoder;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

/**
 * Reads recordings of an engine's events: those that {@code holdfast observe --record} makes, and sessions with real
 * servers in which the frames stand beside what was sent, as SGLang's and vLLM's are kept for tests.
 *
 * <p>The requests are those that the events show, in the blocks of their prompts. All of an engine's ranks make one
 * trace.
 */
final class RecordingLines implements TraceLines {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int VERSION = 1;
    private static final int MOST_RANKS = 1024;
    private static final int SEQUENCE_BYTES = 8;
    /** Delay after the last batch from which an idle engine has nothing left to report. */
    private static final long SETTLE_NANOS = 100_000_000;

    /** A block by the number of the one before it, so that each has one parent whatever its hash. */
    private record Block(int parent, long hash) {}

    /** One request, in numbers of blocks. */
    private record Request(long micros, int inputTokens, int outputTokens, List<Integer> path) {}

    private final String name;
    private final KvEventDecoder decoder = new KvEventDecoder();
    private final UnstableHeads heads = new UnstableHeads();
    private final Map<Block, Integer> numbers = new HashMap<>();
    private final List<Request> requests = new ArrayList<>();
    private final Map<Integer, RecordedRequests> ranks = new TreeMap<>();
    private Optional<RequestRules> rules = Optional.empty();
    private CostSampler costs = new CostSampler(true);
    private long afterMicros = Long.MIN_VALUE;
    private long batchNanos;
    private int blockTokens;
    private int headless;

    RecordingLines(String name) {
        this.name = name;
    }

    /** Returns true if a file that begins with this line is a recording. */
    static boolean recognise(String first) {
        try {
            JsonNode line = JSON.readTree(first);
            return line.has("recording")
                    || line.has("payload")
                    || line.has("readings")
                    || isSglangSession(line)
                    || isVllmSession(line);
        } catch (JsonProcessingException e) {
            return false;
        }
    }

    private static boolean isSglangSession(JsonNode line) {
        return line.has("page_size") && line.has("kv_events");
    }

    private static boolean isVllmSession(JsonNode line) {
        return line.path("type").asText().equals("server") && line.has("block_size");
    }

    @Override
    public void line(String text) {
        JsonNode line;
        try {
            line = JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new BadLineException("is no whole JSON object", e);
        }
        if (!line.isObject()) {
            throw new BadLineException("is no JSON object");
        }
        if (line.has("recording")) {
            begin(line);
        } else if (isSglangSession(line)) {
            begin(RequestRules.sglang());
        } else if (isVllmSession(line)) {
            begin(RequestRules.vllm());
        } else if (line.has("payload")) {
            batchNanos = at(line);
            costs.batch(batchNanos);
            batch(
                    (int) number(line, "rank", MOST_RANKS - 1),
                    number(line, "sequence", Long.MAX_VALUE - 1),
                    base64(line));
        } else if (line.path("readings").isObject()) {
            readings(line.path("readings"), at(line));
        } else if (line.has("type")) {
            // A session with a vLLM counts only for what it published on its own.
            if (line.path("type").asText().equals("frame")) {
                JsonNode frames = line.path("frames");
                batch(0, sequence(frames.path(1)), hex(frames.path(2)));
            }
        } else if (line.path("frames").isArray()) {
            for (JsonNode frame : line.path("frames")) {
                batch(
                        Math.clamp(frame.path("dp_rank").asInt(0), 0, MOST_RANKS - 1),
                        sequence(frame.path("seq_hex")),
                        hex(frame.path("payload_hex")));
            }
        } else {
            throw new BadLineException(
                    "is no line of a recording: it has neither 'recording' nor 'payload' nor" + " 'readings'");
        }
    }

    private void begin(JsonNode line) {
        if (line.path("recording").asInt() != VERSION) {
            throw new BadLineException("begins a recording of form " + line.path("recording")
                    + ", and this version reads form " + VERSION);
        }
        String type = line.path("type").asText();
        switch (type) {
            case "sglang" -> begin(RequestRules.sglang());
            case "vllm" -> begin(RequestRules.vllm());
            default ->
                throw new BadLineException(
                        "begins a recording of the engine " + line.path("type") + ", which is neither sglang nor vllm");
        }
    }

    /** Begins the next recording; what the engine repeats in it was counted in the last one. */
    private void begin(RequestRules engine) {
        end();
        afterMicros = ranks.values().stream()
                .mapToLong(RecordedRequests::lastMicros)
                .max()
                .orElse(afterMicros);
        ranks.clear();
        rules = Optional.of(engine);
        if (requests.isEmpty()) {
            costs = new CostSampler(engine.decoding() == RequestRules.Decoding.AT_FINISH);
        }
        costs.interrupted();
    }

    private void batch(int rank, long sequence, byte[] payload) {
        RequestRules engine = rules.orElseThrow(() -> new BadLineException(
                "has a batch of events before any line that begins a recording, so that its engine is not known"));
        if (!decoder.read(payload)) {
            throw new BadLineException("has a payload that is no batch of events: " + decoder.refusal());
        }
        RecordedRequests cache = ranks.computeIfAbsent(
                rank,
                any -> new RecordedRequests(engine, afterMicros, heads, new RecordedRequests.Listener() {
                    @Override
                    public void computes(VisibleRequest request, int computed, boolean first) {
                        sized(request.blockTokens());
                        costs.computes((long) computed * request.blockTokens(), first);
                    }

                    @Override
                    public void request(VisibleRequest request, long[] path) {
                        add(request, path);
                    }

                    @Override
                    public void headless() {
                        headless++;
                    }
                }));
        cache.next(sequence);
        decoder.deliver(sequence, cache.sink());
    }

    private void sized(int each) {
        if (each <= 0) {
            throw new BadLineException("stores blocks without telling how many tokens a block has");
        }
        if (blockTokens != 0 && blockTokens != each) {
            throw new BadLineException("has blocks of " + each + " tokens after some of " + blockTokens
                    + "; record engines of different block sizes in files of their own");
        }
        blockTokens = each;
    }

    private void add(VisibleRequest request, long[] path) {
        int each = request.blockTokens();
        List<Integer> blocks = new ArrayList<>(path.length);
        int parent = -1;
        for (long hash : path) {
            parent = numbers.computeIfAbsent(new Block(parent, hash), any -> numbers.size());
            blocks.add(parent);
        }
        requests.add(new Request(
                request.firstMicros(),
                Math.toIntExact(
                        Math.min(Integer.MAX_VALUE, request.promptTokens().orElse((long) path.length * each))),
                request.outputBlocks() * each,
                blocks));
    }

    /**
     * Takes the readings of requests and their times where one cache is recorded; of several, nobody knows whose they
     * are.
     */
    private void readings(JsonNode numbers, long nanos) {
        if (ranks.size() > 1) {
            return;
        }
        EngineReadings readings = EngineReadings.unknownBut("it was not recorded")
                .runningRequests(reading(numbers, "runningRequests", nanos))
                .waitingRequests(reading(numbers, "waitingRequests", nanos))
                .ttftSumSeconds(reading(numbers, "ttftSumSeconds", nanos))
                .ttftCount(reading(numbers, "ttftCount", nanos))
                .build();
        boolean idle = numbers.path("runningRequests").asDouble(1) == 0
                && numbers.path("waitingRequests").asDouble(1) == 0
                && nanos >= batchNanos + SETTLE_NANOS;
        if (idle) {
            ranks.values().forEach(cache -> cache.idle(whole(numbers, "ttftCount"), whole(numbers, "promptTokens")));
        }
        costs.reading(readings, 0);
    }

    private static Reading reading(JsonNode numbers, String key, long nanos) {
        JsonNode number = numbers.path(key);
        return number.isNumber()
                ? Reading.known(number.doubleValue(), "the recording", nanos)
                : Reading.unknown("it was not recorded");
    }

    private static OptionalLong whole(JsonNode numbers, String key) {
        JsonNode number = numbers.path(key);
        return number.isNumber() ? OptionalLong.of(Math.round(number.doubleValue())) : OptionalLong.empty();
    }

    private static long at(JsonNode line) {
        try {
            Instant at = Instant.parse(line.path("at").asText());
            return Math.addExact(TimeUnit.SECONDS.toNanos(at.getEpochSecond()), at.getNano());
        } catch (DateTimeException | ArithmeticException e) {
            throw new BadLineException("has no time in 'at', such as 2026-08-01T12:00:00Z", e);
        }
    }

    private static long number(JsonNode line, String key, long most) {
        JsonNode number = line.path(key);
        if (!number.isIntegralNumber()
                || !number.canConvertToLong()
                || number.longValue() < 0
                || number.longValue() > most) {
            throw new BadLineException(
                    "has no number from 0 on in '" + key + "'" + (most < Integer.MAX_VALUE ? " up to " + most : ""));
        }
        return number.longValue();
    }

    private static byte[] base64(JsonNode line) {
        try {
            return Base64.getDecoder().decode(line.path("payload").asText());
        } catch (IllegalArgumentException e) {
            throw new BadLineException("has no base64 in 'payload'", e);
        }
    }

    private static byte[] hex(JsonNode text) {
        try {
            return HexFormat.of().parseHex(text.asText());
        } catch (IllegalArgumentException e) {
            throw new BadLineException("has a frame that is not written in hexadecimal", e);
        }
    }

    private static long sequence(JsonNode text) {
        byte[] bytes = hex(text);
        if (bytes.length != SEQUENCE_BYTES || bytes[0] < 0) {
            throw new BadLineException("has a frame without its number");
        }
        return Long.parseLong(HexFormat.of().formatHex(bytes), 16);
    }

    private void end() {
        ranks.values().forEach(RecordedRequests::end);
    }

    @Override
    public int requests() {
        end();
        return requests.size();
    }

    @Override
    public Trace trace() {
        end();
        requests.sort(Comparator.comparingLong(Request::micros));
        Trace.Builder builder = new Trace.Builder(name, blockTokens);
        long first = requests.getFirst().micros();
        for (Request request : requests) {
            builder.begin(
                    TimeUnit.MICROSECONDS.toNanos(request.micros() - first),
                    request.inputTokens(),
                    request.outputTokens());
            request.path().forEach(builder::block);
        }
        PrefillCost cost = costs.cost();
        builder.recorded(new Trace.Recorded(
                headless,
                heads.found().stream()
                        .map(head -> head.costing(cost.seconds((double) head.againTokens())))
                        .toList()));
        return builder.build();
    }
}
