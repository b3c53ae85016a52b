package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.PrefillBatch.Verdict;
import io.holdfast.rules.testing.Heard;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What enters a pass. */
class PrefillBatchTest {
    private final Random random = new Random(3);

    private static SglangSettings settings(int capacity) {
        return SglangSettings.defaults().withSizes(capacity, 16, 65_536);
    }

    private static RadixCache cache(SglangSettings settings) {
        return new RadixCache(settings, Faults.none());
    }

    private RadixRequest request(int prompt, RequestOptions terms) {
        int[] tokens = random.ints(prompt, 0, 1 << 20).toArray();
        return new RadixRequest(
                new Generation(tokens, terms, false, 0, new Heard()),
                Optional.empty(),
                new TokenChain(Namespace.PLAIN, "", 16),
                0);
    }

    private static PrefillBatch batch(RadixCache cache, SglangSettings settings, RadixRequest... running) {
        return new PrefillBatch(cache, settings, List.of(running), 0.5);
    }

    @Test
    void room_isForPromptAnswerAndAPage_andMoreThanThat() {
        SglangSettings settings = settings(160);
        PrefillBatch largest = batch(cache(settings), settings);
        largest.add(request(100, RequestOptions.of(43)));
        assertThat(largest.size()).isEqualTo(1);
        PrefillBatch tooLarge = batch(cache(settings), settings);
        assertThat(tooLarge.add(request(100, RequestOptions.of(44)))).isEqualTo(Verdict.NO_ROOM);
        assertThat(tooLarge.isEmpty()).isTrue();
    }

    @Test
    void runningRequests_keepRoomByTheRatio_orInFullWhereNothingEndsThem() {
        SglangSettings settings = settings(160);
        RadixRequest running = request(16, RequestOptions.of(100));
        RadixRequest endless = request(16, RequestOptions.of(100).withIgnoresEnd(true));
        PrefillBatch beside = batch(cache(settings), settings, running);
        beside.add(request(50, RequestOptions.of(40)));
        assertThat(beside.size()).as("106 of 160 - 50").isEqualTo(1);
        PrefillBatch besideEndless = batch(cache(settings), settings, endless);
        besideEndless.add(request(50, RequestOptions.of(40)));
        assertThat(besideEndless.isEmpty()).as("106 of 160 - 100").isTrue();
    }

    @Test
    void longAnswers_countFor4096() {
        SglangSettings settings = settings(16_000);
        assertThat(batch(cache(settings), settings).add(request(1_000, RequestOptions.of(50_000))))
                .isEqualTo(Verdict.MORE);
    }

    @Test
    void ownPrefix_isNotRoom() {
        SglangSettings settings = settings(160);
        RadixCache cache = cache(settings);
        RadixRequest first = request(100, RequestOptions.of(10));
        PrefillBatch batch = batch(cache, settings);
        batch.add(first);
        batch.allocate();
        new RequestKv(cache, settings).finish(first);
        assertThat(cache.evictableTokens()).isEqualTo(96);
        RadixRequest again = new RadixRequest(
                new Generation(first.request.prompt(), RequestOptions.of(44), false, 0, new Heard()),
                Optional.empty(),
                new TokenChain(Namespace.PLAIN, "", 16),
                0);
        assertThat(batch(cache, settings).add(again)).as("4 + 44 + 16 of 64").isEqualTo(Verdict.NO_ROOM);
        assertThat(cache.protectedTokens()).as("and nothing stays locked").isZero();
    }

    @Test
    void aPass_computes16384Tokens_andGoesOverOnlyWithTheLastOne() {
        SglangSettings settings = settings(160_000).withChunkedPrefillTokens(32_768);
        PrefillBatch batch = batch(cache(settings), settings);
        assertThat(batch.add(request(16_000, RequestOptions.of(1)))).isEqualTo(Verdict.MORE);
        assertThat(batch.add(request(10_000, RequestOptions.of(1)))).isEqualTo(Verdict.NO_BUDGET);
        assertThat(batch.size()).isEqualTo(2);
        assertThat(batch.cut()).isEmpty();
    }

    @Test
    void chunks_endAtPages_andTakeWhatIsLeftOfThePass() {
        SglangSettings settings = settings(1_600).withChunkedPrefillTokens(128);
        RadixCache cache = cache(settings);
        PrefillBatch batch = batch(cache, settings);
        RadixRequest small = request(20, RequestOptions.of(1));
        RadixRequest large = request(300, RequestOptions.of(1));
        assertThat(batch.add(small)).isEqualTo(Verdict.MORE);
        assertThat(batch.add(large)).isEqualTo(Verdict.NO_BUDGET);
        batch.allocate();
        assertThat(large.filled).as("32 of 128 are gone").isEqualTo(96);
        assertThat(batch.cut()).contains(large);
        assertThat(batch.firsts()).isEqualTo(1);

        new RequestKv(cache, settings).keep(large);
        PrefillBatch next = batch(cache, settings);
        next.resume(large);
        next.allocate();
        assertThat(large.filled).isEqualTo(224);
        assertThat(next.cut()).contains(large);
        assertThat(next.verdict()).isEqualTo(Verdict.NO_BUDGET);

        new RequestKv(cache, settings).keep(large);
        PrefillBatch last = batch(cache, settings);
        last.resume(large);
        last.allocate();
        assertThat(large.filled).isEqualTo(300);
        assertThat(last.cut()).isEmpty();
        assertThat(last.newTokens()).isEqualTo(76);
        assertThat(cache.freeTokens()).isEqualTo(1_600 - 32 - 304);
    }
}
