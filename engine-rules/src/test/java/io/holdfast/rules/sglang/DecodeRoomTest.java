package io.holdfast.rules.sglang;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.rules.engine.EngineDeath;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.testing.Heard;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Requests with full pages in a pool of so many tokens that nothing is free: each wants a page. */
class DecodeRoomTest {
    private final List<RadixRequest> running = new ArrayList<>();

    private record Pool(RadixCache cache, RequestKv kv, DecodeRoom room) {
        static Pool of(int tokens, Variant variant) {
            SglangSettings settings =
                    SglangSettings.defaults().withSizes(tokens, 16, 8192).withVariant(variant);
            RadixCache cache = new RadixCache(settings, Faults.none());
            RequestKv kv = new RequestKv(cache, settings);
            return new Pool(cache, kv, new DecodeRoom(cache, kv, settings, Faults.none()));
        }

        /** A request that has said so many tokens, the pages of its prompt full. */
        RadixRequest runs(int prompt, int said) {
            int[] tokens = new int[prompt];
            Arrays.fill(tokens, said);
            Generation generation = new Generation(tokens, RequestOptions.of(1_000), false, 0, new Heard());
            TokenChain chain = new TokenChain(Namespace.PLAIN, "", 16);
            RadixRequest request = new RadixRequest(generation, Optional.empty(), chain, 0);
            request.admitted(cache.match(request.chain(), 0));
            request.computed = prompt;
            request.filled = prompt;
            request.held = prompt;
            cache.take(prompt);
            for (int i = 0; i < said; i++) {
                generation.answer(i);
            }
            return request;
        }
    }

    @Test
    void retracted_firstWhoHasSaidLeast_thenWhoseInputIsLongest_thenWhoCameLast() {
        Pool pool = Pool.of(32 + 16 + 16 + 16 + 48, Variant.STOCK);
        RadixRequest most = pool.runs(32, 5);
        RadixRequest first = pool.runs(16, 3);
        RadixRequest second = pool.runs(16, 3);
        RadixRequest some = pool.runs(16, 4);
        RadixRequest longest = pool.runs(48, 3);
        running.addAll(List.of(first, longest, second, most, some));

        DecodeRoom.Outcome outcome = pool.room().make(running);

        assertThat(outcome.retracted())
                .as("48 tokens came free where four want 64, then 64 where three want 48")
                .containsExactly(longest, second);
        assertThat(outcome.lost()).isEmpty();
        assertThat(running).as("who has said most goes on first").containsExactly(most, some, first);
        assertThat(outcome.retracted()).allMatch(request -> request.retracted);
        assertThat(pool.cache().freeTokens()).isEqualTo(64);
    }

    @Test
    void room_withoutNeed_changesNothing() {
        Pool pool = Pool.of(64, Variant.STOCK);
        running.addAll(List.of(pool.runs(16, 1), pool.runs(16, 2)));
        List<RadixRequest> before = List.copyOf(running);
        assertThat(pool.room().make(running).isRoom()).isTrue();
        assertThat(running).isEqualTo(before);
        pool.room().take(running);
        assertThat(pool.cache().freeTokens()).isZero();
    }

    @Test
    void requestsWithinAPage_wantNone() {
        Pool pool = Pool.of(16, Variant.STOCK);
        RadixRequest request = pool.runs(16, 2);
        request.computed = 15;
        running.add(request);
        assertThat(pool.room().make(running).isRoom()).isTrue();
        pool.room().take(running);
        assertThat(request.computed).isEqualTo(16);
        assertThat(request.held).isEqualTo(16);
    }

    @Test
    void theLastOne_isLostOnTheRelease() {
        Pool pool = Pool.of(48, Variant.STOCK);
        RadixRequest more = pool.runs(48, 2);
        running.add(more);
        DecodeRoom.Outcome outcome = pool.room().make(running);
        assertThat(outcome.lost()).containsExactly(more);
        assertThat(outcome.retracted()).isEmpty();
        assertThat(running).isEmpty();
        assertThat(pool.cache().freeTokens()).isEqualTo(48);
    }

    @Test
    void theLastOne_killsTheBranches() {
        Pool pool = Pool.of(48, Variant.PIN_GPU);
        running.add(pool.runs(48, 2));
        assertThatThrownBy(() -> pool.room().make(running))
                .isInstanceOf(EngineDeath.class)
                .hasMessageStartingWith("ValueError: Out of memory");
    }

    @Test
    void ratio_afterARetraction_isWhatIsSaidOfWhatMayBe() {
        Pool pool = Pool.of(160, Variant.STOCK);
        NewTokenRatio ratio = new NewTokenRatio();
        assertThat(ratio.current()).isEqualTo(0.7);
        ratio.decay();
        assertThat(ratio.current()).isEqualTo(0.7 - 0.86 * 0.7 / 600);
        ratio.estimate(List.of(pool.runs(16, 80), pool.runs(16, 200)));
        assertThat(ratio.current()).isEqualTo((280 + 2 * 20) / 2001.0);
        for (int step = 0; step < 700; step++) {
            ratio.decay();
        }
        assertThat(ratio.current()).isEqualTo(0.14 * 0.7);
        ratio.estimate(List.of());
        assertThat(ratio.current()).as("of nobody").isZero();
        ratio.reset();
        assertThat(ratio.current()).isEqualTo(0.7);
    }
}
