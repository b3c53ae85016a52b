package io.holdfast.core.requests;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.core.requests.RequestRules.Decoding;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Many requests at once on a seeded engine which cuts long prompts, decodes, evicts and reuses prefixes: none of them
 * begins where another could go on, so the events tell each of them exactly.
 */
final class VisibleRequestsModelTest {
    private static final int SIZE = 16;
    private static final int STEP_TOKENS = 2048;
    private static final long STEP_MICROS = 25_000;
    private static final int SEEDS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 2000 : 60;

    @ParameterizedTest
    @EnumSource(Decoding.class)
    void concurrentRequests_areToldApart(Decoding decoding) {
        for (int seed = 0; seed < SEEDS; seed++) {
            Engine engine = new Engine(decoding, seed);
            for (int step = 0; step < 600; step++) {
                engine.step();
            }
            engine.followed.requests.flush();
            List<String> sent = new ArrayList<>();
            for (Request request : engine.all) {
                if (request.published > 0) {
                    sent.add(request.path.get(request.published - 1) + ": " + request.published + " blocks "
                            + request.hits + " hits");
                }
            }
            assertThat(engine.told).as("seed %s", seed).containsExactlyInAnyOrderElementsOf(sent);
            assertThat(sent).hasSizeGreaterThan(40);
        }
    }

    private static final class Request {
        final List<Long> path = new ArrayList<>();
        int hits;
        int promptTokens;
        int outputTokens;
        int computed;
        int generated;
        int published;
    }

    private static final class Engine implements RequestListener {
        final Decoding decoding;
        final SplittableRandom random;
        final Followed followed;
        final List<Request> all = new ArrayList<>();
        final List<Request> running = new ArrayList<>();
        final List<Request> finished = new ArrayList<>();
        final List<String> told = new ArrayList<>();
        long nextBlock = 1;
        long stamp = 1_000_000;
        long sequence;

        Engine(Decoding decoding, long seed) {
            this.decoding = decoding;
            random = new SplittableRandom(seed);
            followed = new Followed(decoding == Decoding.AT_FINISH ? RequestRules.sglang() : RequestRules.vllm(), this);
        }

        void step() {
            stamp += STEP_MICROS;
            followed.batchStarted(sequence++, stamp);
            for (Request request : List.copyOf(running)) {
                if (request.computed == request.promptTokens) {
                    decode(request);
                }
            }
            if (running.size() < 12 && random.nextInt(4) == 0) {
                begin();
            }
            int room = STEP_TOKENS;
            for (Request request : running.stream()
                    .filter(one -> one.computed < one.promptTokens)
                    .sorted(Comparator.comparingInt(one -> -one.computed))
                    .toList()) {
                int tokens = Math.min(room, request.promptTokens - request.computed);
                room -= tokens;
                request.computed += tokens;
                publish(request, request.computed / SIZE);
            }
            if (!finished.isEmpty() && random.nextInt(5) == 0) {
                evict(finished.remove(random.nextInt(finished.size())));
            }
            followed.batchEnded();
        }

        /** Reuses a prefix that ends inside somebody's prompt, where no request ends. */
        private void begin() {
            Request request = new Request();
            if (!all.isEmpty() && random.nextInt(3) > 0) {
                Request other = all.get(random.nextInt(all.size()));
                int inside = Math.min(other.published, other.computed / SIZE) - 1;
                if (inside > 1 && (running.contains(other) || finished.contains(other)) && other.hits < inside) {
                    request.hits = random.nextInt(other.hits, inside);
                    request.path.addAll(other.path.subList(0, request.hits));
                }
            }
            request.computed = request.hits * SIZE;
            int more = random.nextInt(10) == 0 ? random.nextInt(1000, 7000) : random.nextInt(2 * SIZE, 300);
            request.promptTokens = request.computed + more;
            request.outputTokens = random.nextInt(1, 200);
            request.published = 0;
            all.add(request);
            running.add(request);
        }

        private void decode(Request request) {
            request.generated++;
            int blocks = (request.promptTokens + request.generated - 1) / SIZE;
            boolean over = request.generated == request.outputTokens;
            if (decoding == Decoding.EACH_BLOCK || over) {
                publish(request, blocks);
            }
            if (over) {
                running.remove(request);
                finished.add(request);
            }
        }

        private void publish(Request request, int blocks) {
            int from = Math.max(request.hits, request.published);
            if (blocks <= from) {
                return;
            }
            StoredBlocks chain = new StoredBlocks().blockTokens(SIZE);
            for (int i = from; i < blocks; i++) {
                request.path.add(nextBlock);
                chain.add(nextBlock++);
            }
            if (from > 0) {
                chain.under(request.path.get(from - 1));
            }
            followed.stored(chain);
            request.published = blocks;
        }

        /** The last block goes, which nobody else can have: others reuse what lies inside. */
        private void evict(Request request) {
            if (request.published > 0) {
                followed.removed(new long[] {request.path.get(request.published - 1)}, 0, 1, Tier.GPU, 0);
            }
        }

        @Override
        public void prompt(VisibleRequest request, int before) {
            assertThat(request.promptBlocks()).isGreaterThan(before);
        }

        @Override
        public void completed(VisibleRequest request) {
            told.add(request.lastBlock() + ": " + request.blocks() + " blocks " + request.hits() + " hits");
        }
    }
}
