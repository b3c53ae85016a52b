package io.holdfast.rules.vllm;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.testing.Heard;
import io.holdfast.rules.vllm.VllmSettings.Release;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Block by block what vLLM's own account of its prefix cache tells, ten blocks of four tokens that can be used. */
class PagedCacheTest {
    private static final VllmSettings TEN_BLOCKS = VllmSettings.defaults().withSizes(11, 4, 44);

    private final int[] prompt = IntStream.range(0, 15).toArray();

    @Test
    void blocksWithoutNameGoToTheHeadOfTheQueue() {
        PagedCache cache = new PagedCache(TEN_BLOCKS);
        VllmRequest first = firstRequest(cache);
        VllmRequest second = secondRequest(cache);
        assertThat(table(first)).containsExactly(0, 1, 2, 3, 4);
        assertThat(table(second)).containsExactly(0, 1, 5, 6);

        cache.release(first);
        assertThat(queue(cache)).containsExactly(4, 7, 8, 9, 3, 2);
        cache.release(second);
        assertThat(queue(cache)).containsExactly(6, 4, 7, 8, 9, 3, 2, 5, 1, 0);
        assertThat(table(thirdRequest(cache))).containsExactly(0, 1, 2, 6, 4, 7, 8, 9);
        assertThat(cache.drainEvents()).noneMatch(CacheEvent.Removed.class::isInstance);
    }

    @Test
    void before032BlocksWithoutNameGoToTheTailOfTheQueue() {
        PagedCache cache = new PagedCache(TEN_BLOCKS.withRelease(Release.V0_22));
        VllmRequest first = firstRequest(cache);
        VllmRequest second = secondRequest(cache);

        cache.release(first);
        assertThat(queue(cache)).containsExactly(7, 8, 9, 4, 3, 2);
        cache.release(second);
        assertThat(queue(cache)).containsExactly(7, 8, 9, 4, 3, 2, 6, 5, 1, 0);
        cache.drainEvents();
        VllmRequest third = thirdRequest(cache);
        assertThat(table(third)).containsExactly(0, 1, 2, 7, 8, 9, 4, 3);
        assertThat(cache.drainEvents().getFirst())
                .isInstanceOfSatisfying(
                        CacheEvent.Removed.class,
                        removed -> assertThat(removed.blocks()).containsExactly(first.names.get(3)));
    }

    @Test
    void pingOfAnAlignedPrefixLeavesOneCopyOfItsLastBlockEachTime() {
        assertThat(pings(64)).containsExactly(4, 1, 1, 1);
    }

    @Test
    void pingWithOneTokenMoreLeavesNothing() {
        assertThat(pings(65)).containsExactly(4, 0, 0, 0);
    }

    /** Blocks that a prompt of so many tokens and three repetitions store, in 32 blocks of 16. */
    private static List<Integer> pings(int length) {
        PagedCache cache = new PagedCache(VllmSettings.defaults().withSizes(33, 16, 512));
        return IntStream.range(0, 4)
                .map(ping -> {
                    VllmRequest request =
                            request(cache, IntStream.range(0, length).toArray());
                    int hits = cache.find(request);
                    assertThat(hits).isEqualTo(ping == 0 ? 0 : (length - 1) / 16);
                    assertThat(cache.admit(request, hits, length - hits * 16, 0))
                            .isTrue();
                    cache.release(request);
                    return cache.drainEvents().stream()
                            .mapToInt(event ->
                                    ((CacheEvent.Stored) event).blocks().size())
                            .sum();
                })
                .boxed()
                .toList();
    }

    /** 15 tokens, then two decoded. */
    private VllmRequest firstRequest(PagedCache cache) {
        VllmRequest request = request(cache, prompt);
        assertThat(cache.find(request)).isZero();
        assertThat(cache.admit(request, 0, 15, 0)).isTrue();
        for (int token : new int[] {100, 101}) {
            request.generation.answer(token);
            assertThat(cache.extend(request, 1)).isTrue();
        }
        return request;
    }

    /** 14 tokens, of which 10 are the first request's. */
    private VllmRequest secondRequest(PagedCache cache) {
        return admitted(cache, changed(14, 10), 2);
    }

    /** 29 tokens, of which 12 are the first request's. */
    private VllmRequest thirdRequest(PagedCache cache) {
        return admitted(cache, changed(29, 12), 3);
    }

    private static VllmRequest admitted(PagedCache cache, int[] tokens, int hits) {
        VllmRequest request = request(cache, tokens);
        assertThat(cache.find(request)).isEqualTo(hits);
        assertThat(cache.admit(request, hits, tokens.length - hits * 4, 0)).isTrue();
        return request;
    }

    private static VllmRequest request(PagedCache cache, int[] tokens) {
        return cache.request(new Generation(tokens, RequestOptions.of(8), false, 0, new Heard()));
    }

    private int[] changed(int length, int shared) {
        int[] tokens = Arrays.copyOf(prompt, length);
        Arrays.fill(tokens, shared, length, 1000 + length);
        return tokens;
    }

    /** Blocks as they are counted without the one that is never used. */
    private static List<Integer> table(VllmRequest request) {
        return Arrays.stream(request.table, 0, request.held)
                .map(block -> block - 1)
                .boxed()
                .toList();
    }

    private static List<Integer> queue(PagedCache cache) {
        return Arrays.stream(cache.pool().queued())
                .map(block -> block - 1)
                .boxed()
                .toList();
    }
}
