package io.holdfast.workbench.matrix;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.PairOrder;
import io.holdfast.evidence.Verdict;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PairedLegsTest {
    private static final int EACH = 5;

    @Test
    void effectThatStandsAlone_isDoubtedAsOneOfManyQuestions() {
        Map<String, PairedLegs> pairs = new LinkedHashMap<>(Map.of("faster", pairs(0.88)));
        assertThat(verdict(pairs).finding()).isEqualTo(Finding.REAL);

        for (int i = 0; i < 99; i++) {
            pairs.put("equal " + i, pairs(1));
        }
        assertThat(verdict(pairs).finding()).isNotEqualTo(Finding.REAL);
        assertThat(verdict(pairs).reason()).contains("after Holm's correction");
    }

    private static Verdict verdict(Map<String, PairedLegs> pairs) {
        Map<String, Integer> planned = new LinkedHashMap<>();
        pairs.keySet().forEach(question -> planned.put(question, 3 * EACH));
        return Optional.ofNullable(PairedLegs.verdicts(pairs, planned).get("faster"))
                .orElseThrow();
    }

    /** Pairs whose spread lets 12 % be seen. */
    private static PairedLegs pairs(double factor) {
        PairedLegs pairs = new PairedLegs();
        for (int i = 0; i < EACH; i++) {
            double noise = Math.exp(0.05 * (i - 2));
            pairs.add(PairOrder.AA, 100, 100 * noise);
            pairs.add(PairOrder.BP, 100, 100 * factor * noise);
            pairs.add(PairOrder.PB, 100 * factor, 100 * noise);
        }
        return pairs;
    }
}
