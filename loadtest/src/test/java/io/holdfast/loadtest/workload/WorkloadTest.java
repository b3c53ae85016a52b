package io.holdfast.loadtest.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class WorkloadTest {
    private static final FloodShape SHAPE = new FloodShape(64, 8, 5, 40, 3, 2, 1, 4);

    @Test
    void firstIdThatAVocabularyLacks_isReplacedByOneThatItHas() {
        LoadRequest asked = new LoadRequest(Role.PRIME, 0, new int[] {5, 511, 512}, 1);
        assertThat(asked.within(512).tokens()).containsExactly(5, 511, 128 + 512 % 384);
    }

    @Test
    void sameSeedAndShape_giveTheSameId() {
        assertThat(IdlePrefixFlood.workload(1, SHAPE).id())
                .isEqualTo(IdlePrefixFlood.workload(1, SHAPE).id())
                .isEqualTo("d2c3fb953f58477644487bc1260e34e95145728469d81d35de239761277227ec");
    }

    @Test
    void otherSeed_givesAnotherId() {
        assertThat(IdlePrefixFlood.workload(2, SHAPE).id())
                .isNotEqualTo(IdlePrefixFlood.workload(1, SHAPE).id());
    }

    @Test
    void otherShape_givesAnotherId() {
        Set<String> ids = new HashSet<>();
        for (FloodShape shape : List.of(
                SHAPE,
                new FloodShape(65, 8, 5, 40, 3, 2, 1, 4),
                new FloodShape(64, 9, 5, 40, 3, 2, 1, 4),
                new FloodShape(64, 8, 6, 40, 3, 2, 1, 4),
                new FloodShape(64, 8, 5, 41, 3, 2, 1, 4),
                new FloodShape(64, 8, 5, 40, 4, 2, 1, 4),
                new FloodShape(64, 8, 5, 40, 3, 3, 1, 4),
                SHAPE.withOutputTokens(2, 4),
                SHAPE.withOutputTokens(1, 5))) {
            ids.add(IdlePrefixFlood.workload(1, shape).id());
        }
        assertThat(ids).hasSize(9);
    }

    @Test
    void everyLeg_primesThePrefixAlone() {
        Workload workload = IdlePrefixFlood.workload(3, SHAPE);
        for (int position = 0; position < Workload.LEGS_OF_A_LIFE; position++) {
            LoadRequest prime = workload.requests(position).getFirst();
            assertThat(prime.tokens()).isEqualTo(workload.prefix());
            assertThat(prime.maxTokens()).isOne();
        }
    }

    @Test
    void everyProbe_isThePrefixAndASuffixOfItsOwn() {
        Workload workload = IdlePrefixFlood.workload(3, SHAPE);
        Set<Integer> suffixes = new HashSet<>();
        int probes = 0;
        for (LoadRequest request : all(workload)) {
            if (request.role() == Role.PROBE) {
                int[] tokens = request.tokens();
                assertThat(Arrays.copyOf(tokens, 64)).isEqualTo(workload.prefix());
                assertThat(tokens).hasSize(72);
                suffixes.add(tokens[64]);
                probes++;
            }
        }
        assertThat(probes).isEqualTo(3 * 3 * 2);
        assertThat(suffixes).hasSize(probes);
    }

    @Test
    void noFloodPrompt_beginsLikeAnyOtherPrompt() {
        Workload workload = IdlePrefixFlood.workload(3, SHAPE);
        Set<Integer> begins = new HashSet<>();
        begins.add(workload.prefix()[0]);
        int floods = 0;
        for (LoadRequest request : all(workload)) {
            if (request.role() == Role.FLOOD) {
                begins.add(request.tokens()[0]);
                floods++;
            }
        }
        assertThat(floods).isEqualTo(3 * 3 * 5);
        assertThat(begins).hasSize(floods + 1);
    }

    @Test
    void promptsOfDifferentOrigin_shareNoRunOfEightTokens() {
        Workload workload = IdlePrefixFlood.workload(3, new FloodShape(512, 64, 4, 256, 2, 2, 1, 4));
        List<int[]> texts = new ArrayList<>();
        texts.add(workload.prefix());
        texts.add(workload.touchOfAnother().tokens());
        for (LoadRequest request : all(workload)) {
            int[] tokens = request.tokens();
            switch (request.role()) {
                case PRIME -> {}
                case FLOOD -> texts.add(tokens);
                case PROBE -> texts.add(Arrays.copyOfRange(tokens, 512, tokens.length));
                case LEARN, TOUCH, WARM_UP, LOAD ->
                    throw new AssertionError("No part of this workload: " + request.role());
            }
        }
        assertThat(texts).hasSize(2 + 3 * 2 * (4 + 2));
        Set<String> seen = new HashSet<>();
        for (int[] text : texts) {
            for (int from = 0; from + 8 <= text.length; from++) {
                assertThat(seen.add(Arrays.toString(Arrays.copyOfRange(text, from, from + 8))))
                        .isTrue();
            }
        }
    }

    @Test
    void legsOfALife_differInTokensAndNotInSizes() {
        Workload workload = IdlePrefixFlood.workload(3, SHAPE);
        assertThat(workload.requests(1)).isNotEqualTo(workload.requests(2));
        assertThat(sizes(workload.requests(1)))
                .isEqualTo(sizes(workload.requests(2)))
                .isEqualTo(sizes(workload.requests(0)));
    }

    @Test
    void tokens_areCopiesThatNobodyCanChange() {
        Workload workload = IdlePrefixFlood.workload(3, SHAPE);
        workload.prefix()[0] = 0;
        workload.requests(1).getFirst().tokens()[0] = 0;
        assertThat(workload.prefix()[0]).isNotZero();
        assertThat(workload.requests(1).getFirst().tokens()[0]).isNotZero();
    }

    @Test
    void floodDemand_countsPromptsAndOutput() {
        assertThat(SHAPE.floodDemand()).isEqualTo(5 * 41);
    }

    @Test
    void sizesBelowOne_areRefusedInOneSentence() {
        assertThatThrownBy(() -> FloodShape.of(0, 1, 1, 1, 1))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("A workload needs at least 1 for its prefix tokens, not 0.");
        assertThatThrownBy(() -> FloodShape.of(1, 1, 1, 1, 0)).hasMessageContaining("cycles");
        assertThatThrownBy(() -> FloodShape.of(1, 1, 100_000, 100_000, 1)).hasMessageContaining("memory");
        int most = 1 << 24;
        assertThat(FloodShape.of(1, 1, 1, most - 2, 1).floodTokens()).isEqualTo(most - 2);
        assertThatThrownBy(() -> FloodShape.of(1, 1, 1, most - 1, 1))
                .hasMessage("A leg of 16777217 tokens does not fit into memory; use at most 16777216.");
    }

    private static List<LoadRequest> all(Workload workload) {
        return List.of(workload.requests(0), workload.requests(1), workload.requests(2)).stream()
                .flatMap(List::stream)
                .toList();
    }

    private static List<String> sizes(List<LoadRequest> leg) {
        return leg.stream()
                .map(request -> request.role() + " " + request.length() + " " + request.maxTokens())
                .toList();
    }
}
