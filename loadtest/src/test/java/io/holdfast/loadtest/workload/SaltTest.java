package io.holdfast.loadtest.workload;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class SaltTest {
    private static final Workload WORKLOAD = IdlePrefixFlood.workload(1, FloodShape.of(64, 8, 5, 40, 3));

    @Test
    void legs_haveHeadsOfTheirOwn() {
        Set<List<Integer>> heads = new HashSet<>();
        for (int life = -1; life < 1_000; life++) {
            for (int position = 0; position < Workload.LEGS_OF_A_LIFE; position++) {
                heads.add(head(new Salt(1), life, position));
            }
        }
        assertThat(heads).hasSize(1_001 * Workload.LEGS_OF_A_LIFE);
    }

    @Test
    void otherNonce_givesOtherHeads() {
        assertThat(head(new Salt(1), 1, 1)).isEqualTo(head(new Salt(1), 1, 1)).isNotEqualTo(head(new Salt(2), 1, 1));
    }

    @Test
    void saltedRequests_areTheSameBehindTheirHead() {
        List<LoadRequest> plain = WORKLOAD.requests(1);
        List<LoadRequest> salted = new Salt(3).on(plain, 2, 1);
        assertThat(salted).hasSameSizeAs(plain);
        for (int i = 0; i < plain.size(); i++) {
            int[] tokens = salted.get(i).tokens();
            assertThat(Arrays.copyOfRange(tokens, Salt.tokens(), tokens.length))
                    .isEqualTo(plain.get(i).tokens());
            assertThat(Arrays.copyOf(tokens, Salt.tokens()))
                    .as("one head for all of a leg")
                    .isEqualTo(Arrays.copyOf(salted.getFirst().tokens(), Salt.tokens()));
            assertThat(salted.get(i).role()).isEqualTo(plain.get(i).role());
            assertThat(salted.get(i).maxTokens()).isEqualTo(plain.get(i).maxTokens());
        }
    }

    @Test
    void saltedRequest_withoutItsHead_isThePlainOne() {
        LoadRequest plain = WORKLOAD.requests(1).getFirst();
        LoadRequest salted = new Salt(3).on(plain, 2, 1);
        assertThat(salted).isNotEqualTo(plain);
        assertThat(salted.length()).isEqualTo(plain.length() + Salt.tokens());
        assertThat(salted.withoutHead()).isEqualTo(plain);
    }

    private static List<Integer> head(Salt salt, int life, int position) {
        int[] tokens =
                salt.on(WORKLOAD.requests(position), life, position).getFirst().tokens();
        return Arrays.stream(tokens, 0, Salt.tokens()).boxed().toList();
    }
}
