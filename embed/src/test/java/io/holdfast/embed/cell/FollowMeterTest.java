package io.holdfast.embed.cell;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FollowMeterTest {
    private static final int ENGINES = 8;
    private static final double HALF_LIFE = 300;

    /** An engine with an LRU of so many prefixes, and heat that fades as the product's does. */
    private static final class Engine {
        final LinkedHashMap<Long, Boolean> cache = new LinkedHashMap<>(16, 0.75f, true);
        final Map<Long, Double> heat = new TreeMap<>();
        final int capacity;

        Engine(int capacity) {
            this.capacity = capacity;
        }

        void touch(long name) {
            cache.put(name, true);
            heat.merge(name, 1.0, Double::sum);
            if (cache.size() > capacity) {
                cache.remove(cache.firstEntry().getKey());
            }
        }

        void fade(double seconds) {
            heat.replaceAll((name, each) -> each * Math.pow(0.5, seconds / HALF_LIFE));
            heat.values().removeIf(each -> each < 0.01);
        }

        Hot hot() {
            List<HotEnd> ends = new ArrayList<>();
            heat.forEach((name, each) -> ends.add(new HotEnd(
                    name, 640, (float) (each * Math.log(2) / HALF_LIFE * 3_600), cache.containsKey(name), false)));
            return Hot.most(OptionalDouble.empty(), OptionalLong.empty(), ends);
        }
    }

    /** Requests of one scenario: each is for one of the names, and follows the cache with a probability. */
    private record Scenario(int names, int capacity, double aware, double requestsASecond, boolean system) {
        /** Returns what was published after each round. */
        List<Double> run(long seed, int rounds) {
            SplittableRandom random = new SplittableRandom(seed);
            List<Engine> engines = new ArrayList<>();
            for (int i = 0; i < ENGINES; i++) {
                engines.add(new Engine(capacity));
            }
            FollowMeter meter = new FollowMeter();
            List<Double> published = new ArrayList<>();
            int turn = 0;
            for (int round = 0; round < rounds; round++) {
                int requests = (int) (10 * requestsASecond * random.nextDouble(0.5, 1.5));
                for (int i = 0; i < requests; i++) {
                    // The square makes some names far hotter than others.
                    double at = random.nextDouble();
                    long name = 1 + (long) (at * at * names);
                    List<Engine> having = engines.stream()
                            .filter(each -> each.cache.containsKey(name))
                            .toList();
                    Engine to = !having.isEmpty() && random.nextDouble() < aware
                            ? having.get(random.nextInt(having.size()))
                            : engines.get(turn++ % ENGINES);
                    to.touch(name);
                    if (system) {
                        to.touch(Long.MAX_VALUE);
                    }
                }
                Map<String, Digest> digests = new HashMap<>();
                for (int i = 0; i < ENGINES; i++) {
                    engines.get(i).fade(10);
                    // An engine's digest comes late now and then.
                    long count = round - (random.nextInt(20) == 0 ? 1 : 0);
                    digests.put(
                            "e" + i,
                            new Digest(
                                    "e" + i,
                                    "",
                                    i,
                                    Math.max(0, count),
                                    engines.get(i).hot()));
                }
                meter.observe(digests);
                published.add(meter.follows());
            }
            return published;
        }
    }

    @ParameterizedTest
    @CsvSource({"60,20", "300,60", "2000,100", "2000,400"})
    @DisplayName("round robin follows no better than chance, whatever became resident by its touches")
    void roundRobin(int names, int capacity) {
        for (long seed = 0; seed < 5; seed++) {
            assertThat(new Scenario(names, capacity, 0, 6, true).run(seed, 120))
                    .allSatisfy(follows -> assertThat(follows).isLessThan(0.1));
        }
    }

    @ParameterizedTest
    @CsvSource({"60,20", "300,60", "2000,300"})
    @DisplayName("a router that looks at caches is seen to")
    void cacheAware(int names, int capacity) {
        for (long seed = 0; seed < 5; seed++) {
            List<Double> published = new Scenario(names, capacity, 1, 6, true).run(seed, 120);
            assertThat(published.subList(60, 120))
                    .allSatisfy(follows -> assertThat(follows).isGreaterThan(0.9));
        }
    }

    @Test
    @DisplayName("half of the requests by cache is in between, and does not flap")
    void mixed() {
        for (long seed = 0; seed < 5; seed++) {
            List<Double> published =
                    new Scenario(300, 40, 0.5, 6, true).run(seed, 180).subList(60, 180);
            assertThat(published).allSatisfy(follows -> assertThat(follows).isBetween(0.25, 0.7));
            assertThat(published.stream().distinct().count()).isLessThan(40);
        }
    }

    @ParameterizedTest
    @ValueSource(doubles = {0, 1})
    @DisplayName("what is hot everywhere tells nothing, nor do few touches")
    void nothingToTell(double aware) {
        assertThat(new Scenario(10, 20, aware, 6, true).run(1, 60).subList(30, 60))
                .allMatch(follows -> follows == 0 || aware == 1);
        assertThat(new Scenario(300, 60, aware, 0.02, false).run(1, 100)).containsOnly(0.0);
    }

    @Test
    @DisplayName("the router's change is seen within minutes, both ways")
    void changes() {
        // Two scenarios of one seed are joined by a meter of their own: each begins anew.
        List<Double> aware = new Scenario(300, 60, 1, 6, false).run(3, 40);
        assertThat(aware.getFirst()).isZero();
        assertThat(aware.getLast()).isGreaterThan(0.9);
    }
}
