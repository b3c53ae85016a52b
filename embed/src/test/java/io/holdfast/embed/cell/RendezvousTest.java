package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

class RendezvousTest {
    private final List<String> engines =
            IntStream.range(0, 20).mapToObj(i -> "engine-" + i).toList();

    @Test
    @DisplayName("an engine that goes moves its own names only, each to the next choice")
    void goingMovesItsOwn() {
        Rendezvous all = new Rendezvous(engines);
        List<String> fewer = new ArrayList<>(engines);
        fewer.remove("engine-7");
        Rendezvous without = new Rendezvous(fewer);
        int moved = 0;
        for (long name = 1; name <= 2_000; name++) {
            List<String> before = all.top(name, 4);
            List<String> three = new ArrayList<>(before);
            if (three.remove("engine-7")) {
                assertThat(without.top(name, 3)).isEqualTo(three);
                moved++;
            } else {
                assertThat(without.top(name, 4)).isEqualTo(before);
            }
        }
        assertThat(moved).isBetween(300, 500);
    }

    @Test
    @DisplayName("all who know the same engines choose alike, and evenly")
    void alikeAndEvenly() {
        Rendezvous one = new Rendezvous(engines);
        Rendezvous other = new Rendezvous(engines.reversed());
        Map<String, Integer> chosen = new HashMap<>();
        for (long name = 1; name <= 4_000; name++) {
            List<String> top = one.top(name, 3);
            assertThat(other.top(name, 3)).isEqualTo(top);
            for (String engine : engines) {
                assertThat(one.chooses(engine, name, 3)).isEqualTo(top.contains(engine));
            }
            assertThat(one.first(top.subList(1, 3), name)).contains(top.get(1));
            chosen.merge(top.getFirst(), 1, Integer::sum);
        }
        assertThat(chosen.values()).allSatisfy(count -> assertThat(count).isBetween(140, 260));
        assertThat(one.top(5, FleetHold.ALL)).hasSize(20);
        assertThat(one.chooses("nobody", 5, FleetHold.ALL)).isFalse();
        assertThat(new Rendezvous(List.of()).top(1, 3)).isEmpty();
    }
}
