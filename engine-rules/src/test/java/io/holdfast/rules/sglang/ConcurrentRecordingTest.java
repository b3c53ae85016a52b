package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.testing.Recording;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A real SGLang 0.5.23 server under several requests at once: the engine has to publish the same frames, log the same numbers
 * and serve in the same order.
 *
 * <p>A recording does not tell in which pass a request reached the scheduler. {@link #ARRIVALS} does, as its log and the times
 * of its tokens show it.
 */
class ConcurrentRecordingTest {
    /**
     * Who arrives when, in order: {@code a=3: b c} when a has said three tokens, {@code #2: b} after two passes, {@code idle: b}
     * when there is nothing to do, {@code a=3: !a} for a that goes away, {@code flush} for an attempt to flush.
     */
    private static final Map<String, String> ARRIVALS = Map.ofEntries(
            Map.entry("base4096/six_shared", "#0: z | z=1: a b c d e f"),
            Map.entry("base4096/six_shared_warm", "#0: p | idle: z | z=1: a b c d e f"),
            Map.entry("base4096/six_same", "#0: z | z=1: a b c | a=1: d e f"),
            Map.entry("base4096/one_late", "#0: a | a=12: b | b=11: c"),
            Map.entry("base4096/decode_events", "#0: a | a=1: b | b=1: c"),
            Map.entry("base4096b/finish_beside", "#0: a b c"),
            Map.entry("base4096b/six_same", "#0: z | z=1: a b | a=1: c d e f"),
            Map.entry("cap1024/pressure", "#0: z | z=1: a b c | a=1: d"),
            Map.entry("cap1024/pressure_eos", "#0: z | idle: a | a=1: b c d"),
            Map.entry("cap1024/pressure_unequal", "#0: a | a=21: b | b=22: c | c=21: d"),
            Map.entry("cap1024/pressure_shared", "#0: p | idle: a | a=1: b c d"),
            Map.entry("cap1024/pressure_two", "#0: a | a=1: b"),
            Map.entry("cap1024/queue_for_room", "#0: a | a=1: b | b=1: c | c=1: d e"),
            Map.entry("cap1024/big_then_small", "#0: a | a=6: b c"),
            Map.entry("cap1024/finish_into_pressure", "#0: u | idle: v | idle: w | idle: a | a=1: b c d e f"),
            Map.entry("cap1024/abort_running", "#0: a | a=41: !a"),
            Map.entry("cap1024/abort_running_api", "#0: a | a=42: !a | idle: b"),
            Map.entry("cap1024/abort_then_probe", "#0: a | a=42: !a | idle: b"),
            Map.entry("cap1024/reset_busy", "#0: a | a=10: flush | idle: b | idle: flush"),
            Map.entry("chunk128/chunked", "#0: a | a=1: b | b=5: c d"),
            Map.entry("chunk128/chunked_two", "#0: a | #1: b"),
            Map.entry("chunk128/chunked_abort", "#0: a | a=5: c"),
            Map.entry("chunk128/six_shared", "#0: z | #6: a | #9: b c d e | #10: f"),
            Map.entry("max2/five_two", "#0: a | a=1: b c d e"),
            Map.entry("max2/abort_waiting", "#0: a | a=15: b | idle: c | c=10: d"),
            Map.entry("max2b/abort_waiting", "#0: a b | a=7: c | a=13: d | a=60: !c"),
            Map.entry("max2b/abort_waiting_api", "#0: a | a=1: b | a=2: c | a=6: d | a=8: !c"),
            Map.entry("chunk128b/chunked_abort", "#0: a | a=45: c | #49: !c"),
            Map.entry("chunk128b/chunked_abort_api", "#0: c | #5: !c | idle: d"));

    private static final Pattern ARRIVAL = Pattern.compile("(#\\d+|idle|\\w+=\\d+): (.+)");
    private static final Pattern HASH = Pattern.compile("Numbered\\[hash=(-?\\d+)]");
    private static final Pattern NUMBER = Pattern.compile("(#[\\w-]+) (\\d+)");

    static Stream<String> experiments() {
        return Recording.read("sglang_concurrent.jsonl.gz").stream()
                .map(line -> line.path("experiment").asText());
    }

    @ParameterizedTest
    @MethodSource("experiments")
    void framesLogCachedTokensAndOrderAreTheRecordedServers(String experiment) {
        JsonNode recorded = Recording.read("sglang_concurrent.jsonl.gz").stream()
                .filter(line -> line.path("experiment").asText().equals(experiment))
                .findFirst()
                .orElseThrow();
        Replay replay = new Replay(recorded);
        replay.run(ARRIVALS.getOrDefault(experiment, "unknown"));

        assertThat(replay.log).isEqualTo(batches(recorded));
        assertThat(replay.readable(replay.engine.published)).isEqualTo(replay.readable(frames(recorded)));
        assertThat(passes(recorded.path("ends"), replay.ends))
                .as("passes of last tokens")
                .isSorted();
        for (JsonNode request : recorded.path("requests")) {
            assertThat(replay.heard(request.path("name").asText()).cachedTokens)
                    .as(request.path("name").asText())
                    .isEqualTo(request.path("cached").asInt(Heard.NOTHING));
        }
        SglangWork work = replay.engine.engine.stats().work();
        JsonNode counters = recorded.path("counters");
        assertThat(work.computedTokens())
                .isEqualTo(
                        counters.path("realtime_tokens_total{prefill_compute}").longValue());
        assertThat(work.foundTokens())
                .isEqualTo(counters.path("realtime_tokens_total{prefill_cache}").longValue());
        assertThat(work.decodedTokens())
                .isEqualTo(counters.path("realtime_tokens_total{decode}").longValue());
        assertThat(work.retracted())
                .isEqualTo(counters.path("num_retracted_requests_total").longValue());
        assertThat(work.retractedPromptTokens())
                .isEqualTo(counters.path("num_retracted_input_tokens_total").longValue());
        assertThat(work.retractedAnswerTokens())
                .isEqualTo(counters.path("num_retracted_output_tokens_total").longValue());
        assertThat(replay.engine.engine.stats().evictedTokens())
                .isEqualTo(counters.path("evicted_tokens_total").longValue());
    }

    private static List<List<CacheEvent>> frames(JsonNode recorded) {
        List<List<CacheEvent>> frames = new ArrayList<>();
        for (JsonNode frame : recorded.path("batches")) {
            List<CacheEvent> events = new ArrayList<>();
            frame.forEach(event -> events.add(Recording.event(event)));
            frames.add(events);
        }
        return frames;
    }

    /** What happened in one pass reached the clients in any order. */
    private static List<Integer> passes(JsonNode names, Map<String, Integer> passes) {
        List<Integer> order = new ArrayList<>();
        for (JsonNode name : names) {
            if (passes.containsKey(name.asText())) {
                order.add(passes.get(name.asText()));
            }
        }
        return order;
    }

    /** The numbers of each logged batch that the engine's own numbers have as well. */
    private static List<String> batches(JsonNode recorded) {
        List<String> lines = new ArrayList<>();
        for (JsonNode line : recorded.path("log")) {
            String text = line.asText();
            if (text.contains(" batch: ")) {
                Map<String, String> numbers = new HashMap<>();
                NUMBER.matcher(text).results().forEach(number -> numbers.put(number.group(1), number.group(2)));
                lines.add(
                        text.startsWith("Prefill")
                                ? "prefill new " + numbers.get("#new-token") + " cached " + numbers.get("#cached-token")
                                        + " running " + numbers.get("#running-req") + " queue "
                                        + numbers.get("#queue-req") + " pending " + numbers.get("#pending-token")
                                : "decode running " + numbers.get("#running-req") + " used " + numbers.get("#token")
                                        + " queue " + numbers.get("#queue-req"));
            }
        }
        return lines;
    }

    /** The experiment once more. */
    private static final class Replay {
        final TestEngine engine;
        private final Map<String, Heard> heard = new HashMap<>();
        final Map<String, Integer> ends = new HashMap<>();
        final List<String> log = new ArrayList<>();
        private final Map<String, Generation> requests = new HashMap<>();
        private final Map<Long, String> blocks = new HashMap<>();
        private final boolean ignoresEnd;
        private int passes;
        private boolean idle = true;

        Replay(JsonNode recorded) {
            JsonNode sizes = recorded.path("settings");
            Matcher chunk = Pattern.compile("--chunked-prefill-size (\\d+)")
                    .matcher(sizes.path("flags").asText());
            Matcher most = Pattern.compile("--max-running-requests (\\d+)")
                    .matcher(sizes.path("flags").asText());
            SglangSettings settings = SglangSettings.defaults()
                    .withSizes(
                            sizes.path("CAPACITY").asInt(), sizes.path("PAGE").asInt(), 8192)
                    .withChunkedPrefillTokens(chunk.find() ? Integer.parseInt(chunk.group(1)) : 4096)
                    .withMaxRunning(most.find() ? Integer.parseInt(most.group(1)) : 320);
            engine = new TestEngine(settings, Faults.none());
            engine.published.clear();
            ignoresEnd = recorded.path("ignore_eos").asBoolean();
            recorded.path("requests").forEach(request -> prepare(request, settings.pageTokens()));
        }

        private void prepare(JsonNode request, int pageTokens) {
            String name = request.path("name").asText();
            Heard listener = new Heard() {
                @Override
                public void token(int token, int count, int cached, boolean last) {
                    super.token(token, count, cached, last);
                    if (last) {
                        ends.put(name, passes);
                    }
                }
            };
            RequestOptions terms = RequestOptions.of(request.path("max_new").intValue())
                    .withForced(Arrays.stream(Recording.ints(request.path("output")))
                            .boxed()
                            .toList())
                    .withPriority(request.path("priority").intValue())
                    .withIgnoresEnd(ignoresEnd);
            int[] all = IntStream.concat(
                            Arrays.stream(Recording.ints(request.path("prompt"))),
                            Arrays.stream(Recording.ints(request.path("output"))))
                    .toArray();
            long[] names = SglangBlockNames.of(all, pageTokens);
            for (int i = 0; i < names.length; i++) {
                blocks.putIfAbsent(names[i], name + "." + i);
            }
            heard.put(name, listener);
            requests.put(name, new Generation(Recording.ints(request.path("prompt")), terms, true, 0, listener));
        }

        void run(String arrivals) {
            Deque<Matcher> next = new ArrayDeque<>();
            for (String arrival : arrivals.split(" \\| ", -1)) {
                Matcher matcher = ARRIVAL.matcher(arrival);
                assertThat(matcher.matches()).as(arrival).isTrue();
                next.add(matcher);
            }
            while (!idle || !next.isEmpty()) {
                while (!next.isEmpty() && isTime(next.getFirst().group(1))) {
                    for (String what : next.removeFirst().group(2).split(" ", -1)) {
                        happen(what);
                    }
                    idle = false;
                }
                SglangStats before = engine.engine.reported();
                boolean worked = engine.engine.step();
                assertThat(worked || !idle).as("%s is never reached", next).isTrue();
                idle = !worked;
                passes += worked ? 1 : 0;
                if (worked && !engine.engine.reported().equals(before)) {
                    note(before);
                }
            }
        }

        Heard heard(String name) {
            return Optional.ofNullable(heard.get(name)).orElseThrow();
        }

        private Generation request(String name) {
            return Optional.ofNullable(requests.get(name)).orElseThrow();
        }

        private boolean isTime(String moment) {
            if (moment.equals("idle")) {
                return idle;
            }
            if (moment.startsWith("#")) {
                return passes >= Integer.parseInt(moment.substring(1));
            }
            int equals = moment.indexOf('=');
            return heard(moment.substring(0, equals)).tokens.size() >= Integer.parseInt(moment.substring(equals + 1));
        }

        private void happen(String what) {
            if (what.equals("flush")) {
                assertThat(engine.engine.flush()).isEqualTo(idle);
            } else if (what.startsWith("!")) {
                engine.engine.abort(request(what.substring(1)));
            } else {
                engine.engine.submit(request(what));
            }
        }

        private void note(SglangStats before) {
            SglangStats now = engine.engine.reported();
            long computed = now.work().computedTokens() - before.work().computedTokens();
            if (computed > 0) {
                long found = now.work().foundTokens() - before.work().foundTokens();
                log.add("prefill new " + computed + " cached " + found + " running " + now.running() + " queue "
                        + now.waiting() + " pending " + (now.waitingTokens() + now.cutTokens()));
            } else {
                log.add("decode running " + now.running() + " used " + now.usedTokens() + " queue " + now.waiting());
            }
        }

        /** The events block by block, each block by the request that has it first. */
        List<List<String>> readable(List<List<CacheEvent>> frames) {
            return frames.stream()
                    .map(frame -> Recording.perBlock(frame).stream()
                            .map(line -> HASH.matcher(line)
                                    .replaceAll(
                                            hash -> blocks.getOrDefault(Long.parseLong(hash.group(1)), hash.group()))
                                    .replaceAll(" in GPU.*| from GPU", ""))
                            .toList())
                    .toList();
        }
    }
}
