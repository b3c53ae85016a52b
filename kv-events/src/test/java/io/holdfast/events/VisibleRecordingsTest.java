package io.holdfast.events;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.EngineBlocks;
import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.Matches;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.index.TreeListener;
import io.holdfast.core.requests.InvisibleShare;
import io.holdfast.core.requests.RequestListener;
import io.holdfast.core.requests.RequestRules.Decoding;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.core.requests.VisibleRequests;
import io.holdfast.events.RecordedSession.Step;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The requests that the events of real servers show, against the requests that were sent to them.
 *
 * <p>{@code -Dholdfast.golden=DIR} adds the recordings of a directory.
 */
final class VisibleRecordingsTest {
    private static final List<String> OWN = List.of(
            "sglang_server_p16_lru.jsonl.gz",
            "sglang_server_p1_lru.jsonl.gz",
            "sglang_server_p16_priority.jsonl.gz",
            "sglang_server_p16_lru_hicache.jsonl.gz",
            "sglang_long_p16_lru.jsonl.gz",
            "sglang_long_p16_lru_hicache.jsonl.gz",
            "sglang_long_p16_lru_hicache_small.jsonl.gz",
            "sglang_long_p16_priority.jsonl.gz",
            "sglang_long_p16_sessions.jsonl.gz",
            "sglang_long_p1_lru.jsonl.gz",
            "vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz",
            "vllm_sha256_cbor_int_seed0.jsonl.gz",
            "vllm_sha256_default_int_seed0.jsonl.gz",
            "vllm_sha256_cbor_int_noseed.jsonl.gz",
            "vllm_sha256_cbor_bytes_seed0.jsonl.gz",
            "vllm_long_sha256_cbor_int_seed0.jsonl.gz");

    /**
     * What events alone tell. A request judged wrong is two that were sent: the second found the whole path of the first and
     * stored under its end while the first, for all that the events say, could still be generating.
     */
    private static final Map<String, String> EVENTS_ALONE = Map.ofEntries(
            entry("sglang_server_p16_lru.jsonl.gz", 26, 3, 1),
            entry("sglang_server_p1_lru.jsonl.gz", 27, 3, 2),
            entry("sglang_server_p16_priority.jsonl.gz", 24, 3, 1),
            entry("sglang_server_p16_lru_hicache.jsonl.gz", 26, 3, 1),
            entry("sglang_long_p16_lru.jsonl.gz", 133, 20, 31),
            entry("sglang_long_p16_lru_hicache.jsonl.gz", 86, 17, 20),
            entry("sglang_long_p16_lru_hicache_small.jsonl.gz", 91, 9, 8),
            entry("sglang_long_p16_priority.jsonl.gz", 140, 32, 28),
            entry("sglang_long_p16_sessions.jsonl.gz", 118, 29, 28),
            entry("sglang_long_p1_lru.jsonl.gz", 55, 37, 23),
            entry("vllm_v0.22.1_array_sha256_cbor_int_seed0.jsonl.gz", 9, 1, 0),
            entry("vllm_sha256_cbor_int_seed0.jsonl.gz", 10, 1, 0),
            entry("vllm_sha256_default_int_seed0.jsonl.gz", 10, 1, 0),
            entry("vllm_sha256_cbor_int_noseed.jsonl.gz", 10, 1, 0),
            entry("vllm_sha256_cbor_bytes_seed0.jsonl.gz", 10, 1, 0),
            entry("vllm_long_sha256_cbor_int_seed0.jsonl.gz", 211, 9, 11));

    private static Map.Entry<String, String> entry(String name, int certain, int right, int wrong) {
        return Map.entry(name, certain + " certain, " + right + " judged right, " + wrong + " judged wrong");
    }

    static List<RecordedSession> sessions() throws IOException {
        List<RecordedSession> sessions = new ArrayList<>();
        for (String name : OWN) {
            sessions.addAll(RecordedSession.read(name, RecordedSession.own(name)));
        }
        sessions.addAll(sessions.stream()
                .filter(session -> session.rules().decoding() == Decoding.AT_FINISH)
                .map(RecordedSession::pageByPage)
                .toList());
        String more = System.getProperty("holdfast.golden", "");
        if (!more.isEmpty()) {
            try (Stream<Path> files = Files.walk(Path.of(more))) {
                for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                    String name = file.toString();
                    if (name.endsWith(".jsonl") || name.endsWith(".jsonl.gz")) {
                        sessions.addAll(RecordedSession.read(name, file.toUri().toURL()));
                    }
                }
            }
        }
        return sessions;
    }

    /** One request was sent at a time, so the engine was idle after each: its counters say what ran in between. */
    @ParameterizedTest
    @MethodSource("sessions")
    void eventsAndCountersReadAfterEachRequest_yieldWhatWasSentAndTheInvisibleRest(RecordedSession session) {
        Seen seen = new Seen();
        EngineBlocks blocks = blocks(session);
        VisibleRequests visible = new VisibleRequests(session.rules(), blocks, seen);
        InvisibleShare share = new InvisibleShare();
        Truth truth = new Truth(session, blocks, visible);
        long requests = 0;
        long promptTokens = 0;
        int shown = 0;
        for (Step step : session.steps()) {
            if (step.sent()) {
                if (requests == 0) {
                    // What an engine asks itself at its start was not sent: counted from here on.
                    visible.idle(OptionalLong.of(0), OptionalLong.of(0));
                    share.counted(0, visible.seen(), 0, 0);
                    seen.take();
                }
                requests++;
                promptTokens += step.promptTokens();
            }
            truth.play(step);
            visible.idle(OptionalLong.of(requests), OptionalLong.of(promptTokens));
            if (!step.sent()) {
                continue;
            }
            List<VisibleRequest> completed = seen.take();
            if (truth.stored.isEmpty()) {
                assertThat(completed).as(step.name()).isEmpty();
            } else {
                assertThat(completed).as(step.name()).hasSize(1);
                truth.assertIs(step, completed.getFirst());
                assertThat(completed.getFirst().judged()).as(step.name()).isFalse();
                assertThat(completed.getFirst().promptTokens()).as(step.name()).hasValue(step.promptTokens());
                assertThat(completed.getFirst().outputBlocks())
                        .as(step.name())
                        .isEqualTo(truth.storedFrom(step.promptTokens() / session.blockTokens()));
                shown++;
            }
        }
        assertThat(shown).isGreaterThan(8);
        share.counted(requests, visible.seen(), 0, 0);
        assertThat(share.requests()).isEqualTo(requests);
        assertThat(share.invisible()).isEqualTo(requests - shown);
    }

    /** Without any reading, a request that says that it was not judged is one that was sent. */
    @ParameterizedTest
    @MethodSource("sessions")
    void eventsAlone_yieldRequestsThatWereSentUnlessTheySayThatTheyAreJudged(RecordedSession session) {
        Seen seen = new Seen();
        EngineBlocks blocks = blocks(session);
        VisibleRequests visible = new VisibleRequests(session.rules(), blocks, seen);
        Truth truth = new Truth(session, blocks, visible);
        List<Expected> expected = new ArrayList<>();
        for (Step step : session.steps()) {
            seen.step = expected.size();
            truth.play(step);
            expected.add(truth.expected(step));
        }
        visible.flush();
        int exact = 0;
        int judgedRight = 0;
        int judgedWrong = 0;
        for (VisibleRequest request : seen.take()) {
            Expected sent = expected.get(Objects.requireNonNull(seen.begun.get(request)));
            if (!sent.sent) {
                continue;
            }
            if (!request.judged()) {
                assertThat(Expected.of(request)).as(sent.name).isEqualTo(sent);
                exact++;
            } else if (Expected.of(request).equals(sent)) {
                judgedRight++;
            } else {
                judgedWrong++;
            }
        }
        assertThat(exact + judgedRight + judgedWrong).isLessThanOrEqualTo((int)
                expected.stream().filter(one -> one.sent && one.stores).count());
        String alone = EVENTS_ALONE.get(session.name().replace(RecordedSession.PAGE_BY_PAGE, ""));
        if (alone != null) {
            assertThat(exact + " certain, " + judgedRight + " judged right, " + judgedWrong + " judged wrong")
                    .isEqualTo(alone);
        }
    }

    private static EngineBlocks blocks(RecordedSession session) {
        CacheTraits traits =
                session.rules().decoding() == Decoding.AT_FINISH ? CacheTraits.sglang() : CacheTraits.vllm();
        return new EngineBlocks(traits, new TreeListener() {
            @Override
            public void parted(long above, long first) {}

            @Override
            public void insertionEnded(long lastBlock, int depth, boolean ended) {}

            @Override
            public void pinnedBlockRemoved(long block) {}
        });
    }

    /** What a step left, as far as events can tell it. */
    private record Expected(
            String name, boolean sent, boolean stores, long lastBlock, int blocks, int hits, int newBlocks) {
        static Expected of(VisibleRequest request) {
            return new Expected(
                    "", true, true, request.lastBlock(), request.blocks(), request.hits(), request.newBlocks());
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Expected that
                    && lastBlock == that.lastBlock
                    && blocks == that.blocks
                    && hits == that.hits
                    && newBlocks == that.newBlocks;
        }

        @Override
        public int hashCode() {
            return Long.hashCode(lastBlock);
        }
    }

    /** Keeps what it is told. */
    private static final class Seen implements RequestListener {
        final IdentityHashMap<VisibleRequest, Integer> begun = new IdentityHashMap<>();
        int step;
        private List<VisibleRequest> completed = new ArrayList<>();

        @Override
        public void prompt(VisibleRequest request, int before) {
            begun.putIfAbsent(request, step);
        }

        @Override
        public void completed(VisibleRequest request) {
            completed.add(request);
        }

        List<VisibleRequest> take() {
            List<VisibleRequest> taken = completed;
            completed = new ArrayList<>();
            return taken;
        }
    }

    /** Knows which blocks are where, with their tokens, the slow and plain way; tells another what it is told. */
    private static final class Truth implements KvEventSink {
        private final RecordedSession session;
        private final EngineBlocks blocks;
        private final KvEventSink told;
        private final KvEventDecoder decoder = new KvEventDecoder();
        private final Map<Long, Optional<Long>> parents = new HashMap<>();
        private final Map<Long, List<Integer>> tokens = new HashMap<>();
        private final Map<Long, Map<Tier, Integer>> there = new HashMap<>();
        private final Matches matches = new Matches();
        private Set<Long> before = Set.of();
        final Set<Long> stored = new HashSet<>();
        private long deepest;
        private long sequence;
        private long stampMicros;

        Truth(RecordedSession session, EngineBlocks blocks, VisibleRequests visible) {
            this.session = session;
            this.blocks = blocks;
            told = new BothSinks(blocks, visible);
        }

        void play(Step step) {
            stored.clear();
            before = new HashSet<>(there.keySet());
            for (byte[] frame : step.frames()) {
                stampMicros = Math.round(ByteBuffer.wrap(frame).getDouble(2) * 1e6);
                assertThat(decoder.decode(frame, sequence++, this))
                        .as(decoder.refusal())
                        .isTrue();
            }
            assertBlocks(step);
        }

        /** The index has what this has, for decisions and for readers. */
        private void assertBlocks(Step step) {
            long resident = there.values().stream()
                    .filter(tiers -> tiers.containsKey(Tier.GPU))
                    .count();
            assertThat(blocks.size()).as(step.name()).isEqualTo((int) resident);
            for (Map.Entry<Long, Map<Tier, Integer>> block : there.entrySet()) {
                assertThat(blocks.resident(block.getKey()))
                        .as("%s: %d", step.name(), block.getKey())
                        .isEqualTo(block.getValue().containsKey(Tier.GPU));
            }
            if (!there.containsKey(deepest)) {
                return;
            }
            long[] path = path(deepest).stream().mapToLong(Long::longValue).toArray();
            int onGpu = 0;
            while (onGpu < path.length
                    && there.getOrDefault(path[onGpu], Map.of()).containsKey(Tier.GPU)) {
                onGpu++;
            }
            blocks.match(path, 0, path.length, matches);
            assertThat(matches.depthOf(0, Tier.GPU)).as(step.name()).isEqualTo(onGpu);
            assertThat(blocks.match(new HoldRequest(path, Duration.ofSeconds(1))))
                    .as(step.name())
                    .isEqualTo(onGpu);
        }

        Expected expected(Step step) {
            if (stored.isEmpty()) {
                return new Expected(step.name(), step.sent(), false, 0, 0, 0, 0);
            }
            int blocks = (step.promptTokens() + step.outputTokens() - 1) / session.blockTokens();
            int hits = hits(step);
            return new Expected(step.name(), step.sent(), true, deepest, blocks, hits, blocks - hits);
        }

        void assertIs(Step step, VisibleRequest request) {
            assertThat(Expected.of(request)).as("%s: %s", step.name(), request).isEqualTo(expected(step));
            assertThat(step.cachedTokens())
                    .as(step.name())
                    .isEqualTo(session.blockTokens()
                            * Math.min(request.hits(), (step.promptTokens() - 1) / session.blockTokens()));
            List<Integer> path = new ArrayList<>();
            for (long block : path(request.lastBlock())) {
                path.addAll(Objects.requireNonNull(tokens.get(block)));
            }
            assertThat(path).hasSize(request.blocks() * session.blockTokens());
            int known = Math.min(path.size(), step.known().size());
            assertThat(path.subList(0, known))
                    .as(step.name())
                    .isEqualTo(step.known().subList(0, known));
        }

        /** How many blocks this step stored on its path from this depth on. */
        int storedFrom(int depth) {
            List<Long> path = path(deepest);
            return (int) path.subList(Math.min(depth, path.size()), path.size()).stream()
                    .filter(stored::contains)
                    .count();
        }

        /** vLLM says which blocks it used; in SGLang they are those that were there, in whatever tier. */
        private int hits(Step step) {
            if (step.twin() || session.rules().decoding() == Decoding.EACH_BLOCK) {
                return step.cachedTokens() / session.blockTokens();
            }
            List<Long> path = path(deepest);
            int hits = 0;
            while (hits < path.size() && before.contains(path.get(hits))) {
                hits++;
            }
            return hits;
        }

        private List<Long> path(long last) {
            List<Long> path = new ArrayList<>();
            Optional<Long> block = Optional.of(last);
            while (block.isPresent()) {
                path.addFirst(block.get());
                block = Objects.requireNonNull(parents.get(block.get()));
            }
            return path;
        }

        @Override
        public void stored(StoredBlocks chain) {
            told.stored(chain);
            Optional<Long> parent = chain.rooted() ? Optional.empty() : Optional.of(chain.parent());
            int size = chain.blockTokens();
            for (int i = 0; i < chain.count(); i++) {
                long block = chain.hash(i);
                parents.put(block, parent);
                List<Integer> text = new ArrayList<>();
                for (int j = 0; j < size; j++) {
                    text.add(chain.token(i * size + j));
                }
                tokens.put(block, text);
                there.computeIfAbsent(block, any -> new HashMap<>()).merge(chain.tier(), 1, Integer::sum);
                if (chain.tier() == Tier.GPU) {
                    stored.add(block);
                    deepest = block;
                }
                parent = Optional.of(block);
            }
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            told.removed(hashes, from, to, tier, group);
            for (int i = from; i < to; i++) {
                Map<Tier, Integer> tiers = there.getOrDefault(hashes[i], Map.of());
                if (tiers.containsKey(tier)) {
                    tiers.computeIfPresent(tier, (any, copies) -> copies - 1);
                    tiers.values().remove(0);
                    if (tiers.isEmpty()) {
                        there.remove(hashes[i]);
                    }
                }
            }
        }

        @Override
        public void cleared() {
            told.cleared();
            there.clear();
            before = Set.of();
        }

        @Override
        public void batchStarted(long number, long ignored) {
            told.batchStarted(number, stampMicros);
        }

        @Override
        public void batchEnded() {
            told.batchEnded();
        }

        @Override
        public void gap(Gap gap) {
            throw new AssertionError("no recording has a gap");
        }

        @Override
        public void restarted(long seen) {
            throw new AssertionError("no recording has a restart");
        }
    }
}
