package io.holdfast.embed.cell;

import static io.holdfast.embed.cell.CellTime.end;
import static io.holdfast.embed.cell.CellTime.hot;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class CellViewTest {
    private static final List<CellEngine> THREE = List.of(
            new CellEngine("a", "", Duration.ZERO),
            new CellEngine("b", "", Duration.ZERO),
            new CellEngine("c", "", Duration.ZERO));

    private static double worth(String here, Map<String, Hot> digests, double follows, long name) {
        return CellView.of(here, THREE, digests, follows).worthHere(name);
    }

    @Test
    @DisplayName("the first copy is worth all, a further one what does not follow")
    void furtherCopies() {
        Map<String, Hot> digests = Map.of(
                "a", hot(end(1, 30, true, false), end(2, 90, true, false)),
                "b", hot(end(1, 10, true, false)),
                "c", hot(end(1, 0, false, false)));
        String first = new Rendezvous(List.of("a", "b", "c"))
                .first(List.of("a", "b"), 1)
                .orElseThrow();
        String second = first.equals("a") ? "b" : "a";

        assertThat(worth(first, digests, 0.75, 1)).isEqualTo(1);
        assertThat(worth(second, digests, 0.75, 1)).isEqualTo(0.25);
        assertThat(worth("c", digests, 0.75, 1)).isEqualTo(0.25);
        assertThat(worth(second, digests, 0, 1)).isEqualTo(1);
        assertThat(worth("c", digests, 0.75, 99)).isEqualTo(1);
        CellView view = CellView.of("a", THREE, digests, 1);
        assertThat(view.share(1)).isCloseTo(0.75, within(1e-9));
        assertThat(view.prefix(1).orElseThrow().touchesAnHour()).isEqualTo(40);
        assertThat(view.prefixes().getFirst().name()).isEqualTo(2);
    }

    @Test
    @DisplayName("a copy that nobody sends requests to takes no hold from who serves")
    void idleCopy() {
        for (long name = 1; name < 50; name++) {
            Map<String, Hot> digests = Map.of(
                    "a", hot(end(name, 0, true, true)),
                    "b", hot(end(name, 10, true, false)),
                    "c", hot(end(99, 90, true, false)));
            assertThat(worth("b", digests, 1, name)).isEqualTo(1);
        }
    }

    @Test
    @DisplayName("who holds it stays the first, whoever else has it")
    void holdersStayFirst() {
        for (long name = 1; name < 50; name++) {
            for (String holder : List.of("a", "b", "c")) {
                Map<String, Hot> digests = Map.of(
                        "a", hot(end(name, 1, true, holder.equals("a"))),
                        "b", hot(end(name, 1, true, holder.equals("b"))),
                        "c", hot(end(name, 1, true, holder.equals("c")), end(99, 90, true, false)));
                for (String here : List.of("a", "b", "c")) {
                    assertThat(worth(here, digests, 1, name)).isEqualTo(here.equals(holder) ? 1 : 0);
                }
            }
        }
    }

    @Test
    @DisplayName("what all engines serve as much of as any could take is superfluous nowhere")
    void headsOfAllTraffic() {
        Map<String, Hot> digests = Map.of(
                "a", hot(end(1, 100, true, true)),
                "b", hot(end(1, 100, true, true)),
                "c", hot(end(1, 100, true, true)));
        for (String here : List.of("a", "b", "c")) {
            assertThat(CellView.of(here, THREE, digests, 1).superfluous(1)).isFalse();
        }
    }

    @Test
    @DisplayName("of one engine, of sums and of nothing everything is worth what it is alone")
    void alone() {
        Map<String, Hot> digests = Map.of("a", hot(end(1, 30, true, false)), "b", hot(end(1, 10, true, true)));
        assertThat(CellView.of("a", THREE.subList(0, 1), digests, 1).worthHere(1))
                .isEqualTo(1);
        assertThat(CellView.NONE.worthHere(1)).isEqualTo(1);
        assertThat(CellView.NONE.share(1)).isEqualTo(1);
        CellView sums = CellView.ofSums("a", THREE, Map.of(1L, 40.0, 2L, 7.0), hot(end(1, 10, true, false)));
        assertThat(sums.worthHere(1)).isEqualTo(1);
        assertThat(sums.share(1)).isEqualTo(0.25);
        assertThat(sums.prefix(2).orElseThrow().tokens()).isEmpty();
    }
}
