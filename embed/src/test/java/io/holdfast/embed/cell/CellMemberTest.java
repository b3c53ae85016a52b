package io.holdfast.embed.cell;

import static io.holdfast.embed.cell.CellTime.CELL;
import static io.holdfast.embed.cell.CellTime.end;
import static io.holdfast.embed.cell.CellTime.hot;
import static io.holdfast.embed.cell.CellTime.ids;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.CellTime.Life;
import io.holdfast.embed.cell.FleetStore.Key;
import io.holdfast.embed.cell.MapStore.Mood;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class CellMemberTest {
    /** Two periods, and a round until the next look. */
    private static final int SOON = 24;

    private final CellTime time = new CellTime(40);

    private static FleetHold wish(long id, long name, int copies, int seconds) {
        return FleetHold.of(id, name, 4, 64, copies, "ops", 1, Duration.ofSeconds(seconds), "http://a:1");
    }

    private List<String> wanting(FleetHold hold) {
        return time.lives.entrySet().stream()
                .filter(each -> each.getValue().polled)
                .filter(each -> each.getValue().member.wanted().stream()
                        .anyMatch(wanted -> wanted.id().equals(hold.id())))
                .map(Map.Entry::getKey)
                .toList();
    }

    @Test
    @DisplayName(
            "members see each other's engines, addresses, copies and touches, whatever the origins of their clocks")
    void seeEachOther() {
        Life a = time.start("a");
        Life b = time.start("b");
        a.hot = hot(end(1, 30, true, true), end(2, 5, false, false));
        b.hot = hot(end(1, 10, false, false));
        time.seconds(22);

        CellView view = b.member.view();
        assertThat(ids(view)).containsExactly("a", "b");
        assertThat(view.engines().getFirst().address()).isEqualTo("http://a:1");
        assertThat(view.engines().getFirst().age()).isLessThan(CellMember.TWO_PERIODS);
        assertThat(view.prefix(1).orElseThrow().copies())
                .containsExactly(new CellPrefix.Copy("a", 30, true, true), new CellPrefix.Copy("b", 10, false, false));
        assertThat(view.share(1)).isEqualTo(0.25);
        CellCounters counters = b.member.counters();
        assertThat(counters.rounds()).isBetween(2L, 4L);
        assertThat(counters.failed()).isZero();
        assertThat(counters.refused()).isEmpty();
        assertThat(counters.bytesIn()).isPositive();
        assertThat(counters.bytesOut()).isPositive();
    }

    @Test
    @DisplayName("another cell's engines are never met")
    void otherCells() {
        Life a = time.start("a");
        CellMember other = new CellMember(
                time.store,
                new Cell("other", 16, ""),
                "b",
                "",
                () -> time.now,
                new SplittableRandom(1),
                () -> Hot.NOTHING,
                List::of);
        time.seconds(30, () -> other.poll(time.now));
        assertThat(ids(a.member.view())).containsExactly("a");
        assertThat(ids(other.view())).containsExactly("b");
        // A store that answers with the values of another cell.
        time.store.all().forEach((key, value) -> {
            if (!key.cell().equals(CELL.id())) {
                time.store.plant(new Key(CELL.id(), key.kind(), key.name()), value);
            }
        });
        time.seconds(12);
        assertThat(ids(a.member.view())).containsExactly("a");
        assertThat(a.member.counters().refused()).containsKey(Refusal.OTHER_CELL);
    }

    @Test
    @DisplayName("another process that takes part by our name is found out, counted, and forgotten when it ends")
    void twins() {
        Life a = time.start("a");
        CellMember twin = new CellMember(
                time.store, CELL, "a", "", () -> time.now, new SplittableRandom(1), () -> Hot.NOTHING, List::of);
        time.seconds(60, () -> twin.poll(time.now));
        assertThat(a.member.counters().refused().get(Refusal.SAME_NAME)
                        + twin.counters().refused().get(Refusal.SAME_NAME))
                .isGreaterThan(3);
        time.seconds(SOON);
        assertThat(ids(a.member.view())).containsExactly("a");
    }

    @ParameterizedTest
    @EnumSource(value = Mood.class, names = "WELL", mode = EnumSource.Mode.EXCLUDE)
    @DisplayName(
            "a store that does not do its work leaves the engine alone after two periods, and back it helps as soon")
    void storeOfEveryMood(Mood mood) {
        Life a = time.start("a");
        Life b = time.start("b");
        a.hot = hot(end(1, 30, true, true));
        FleetHold all = wish(1, 9, FleetHold.ALL, 3_600);
        a.member.hold(all);
        time.seconds(30);
        assertThat(wanting(all)).containsExactly("a", "b");

        for (int i = 0; i < 3; i++) {
            time.store.mood = mood;
            time.seconds(SOON);
            for (int second = 0; second < 60; second++) {
                time.seconds(1);
                assertThat(a.member.view()).isSameAs(CellView.NONE);
                assertThat(b.member.view()).isSameAs(CellView.NONE);
                assertThat(wanting(all)).isEmpty();
            }
            assertThat(a.member.counters().failed()).isPositive();
            assertThat(a.member.counters().sinceGoodSeconds().orElseThrow()).isGreaterThan(60);
            time.store.mood = Mood.WELL;
            time.seconds(SOON);
            assertThat(ids(a.member.view())).containsExactly("a", "b");
            assertThat(wanting(all)).containsExactly("a", "b");
        }
    }

    @Test
    @DisplayName("one round of calls is under way, and answers that come too late change nothing")
    void lateAnswers() {
        Life a = time.start("a");
        time.store.mood = Mood.LATE;
        time.seconds(5);
        int first = time.store.calls;
        assertThat(first).isEqualTo(2);
        time.seconds(5);
        assertThat(time.store.calls).isEqualTo(first);
        time.seconds(30);
        assertThat(a.member.counters().failed()).isEqualTo(3);
        time.store.answerLate();
        assertThat(a.member.view()).isSameAs(CellView.NONE);

        // An answer within a period is as good as any.
        time.seconds(40, time.store::answerLate);
        assertThat(ids(a.member.view())).containsExactly("a");
        assertThat(a.member.counters().lastRoundSeconds()).isBetween(1.0, 4.0);
    }

    @Test
    @DisplayName("an engine that dies gives its copies up to others, and no echo of it brings it back")
    void deadEngine() {
        for (String engine : List.of("a", "b", "c", "d")) {
            time.start(engine);
        }
        FleetHold two = wish(1, 77, 2, 3_600);
        time.lives.get("a").member.hold(two);
        time.seconds(30);
        List<String> chosen = new Rendezvous(List.of("a", "b", "c", "d")).top(77, 4);
        assertThat(wanting(two)).containsExactlyInAnyOrderElementsOf(chosen.subList(0, 2));

        String dead = chosen.getFirst();
        time.lives.get(dead).polled = false;
        Map<Key, byte[]> last = time.store.all();
        // The last look at it may have been a period after its last sign.
        time.seconds(
                35,
                () -> last.forEach((key, value) -> {
                    if (key.name().equals(dead)) {
                        time.store.plant(key, value);
                    }
                }));
        assertThat(wanting(two)).containsExactlyInAnyOrderElementsOf(chosen.subList(1, 3));
        for (int second = 0; second < 20; second++) {
            time.seconds(1, () -> last.forEach(time.store::plant));
            time.lives.values().stream()
                    .filter(each -> each.polled)
                    .forEach(each -> assertThat(ids(each.member.view())).doesNotContain(dead));
        }

        // Another process for the same engine is new.
        time.start(dead);
        time.seconds(SOON);
        assertThat(wanting(two)).containsExactlyInAnyOrderElementsOf(chosen.subList(0, 2));
    }

    @Test
    @DisplayName("holds outlive an emptied store by whoever took them, and others keep them for two periods at most")
    void emptiedStore() {
        Life a = time.start("a");
        time.start("b");
        FleetHold all = wish(1, 9, FleetHold.ALL, 600);
        assertThat(a.member.hold(all)).isTrue();
        time.seconds(15);
        time.store.clear();
        for (int second = 0; second < 30; second++) {
            time.seconds(1);
            assertThat(wanting(all)).containsExactly("a", "b");
        }

        // Whoever took it is gone, and so is the store's copy.
        a.polled = false;
        time.store.clear();
        time.seconds(SOON);
        assertThat(wanting(all)).isEmpty();
    }

    @Test
    @DisplayName("a lease ends everywhere, a period late at most, whatever is read again")
    void leases() {
        Life a = time.start("a");
        time.start("b");
        FleetHold hold = wish(1, 9, FleetHold.ALL, 100);
        a.member.hold(hold);
        time.seconds(30);
        Map<Key, byte[]> early = time.store.all();
        assertThat(time.lives.get("b").member.wanted().getFirst().leaseMillis()).isBetween(60_000L, 82_000L);
        time.seconds(69);
        assertThat(wanting(hold)).containsExactly("a", "b");
        time.seconds(13);
        assertThat(wanting(hold)).isEmpty();
        assertThat(early).isNotEmpty();
        assertThat(a.member.fleetHolds()).isEmpty();

        // Taken again, it is prolonged.
        a.member.hold(hold);
        time.seconds(20);
        a.member.hold(wish(1, 9, FleetHold.ALL, 500));
        time.seconds(100);
        assertThat(wanting(hold)).containsExactly("a", "b");
    }

    @Test
    @DisplayName("a lease that is longer than anything stays in a store is put again and again")
    void leaseOfAYear() {
        MemoryFleetStore store = new MemoryFleetStore(() -> time.now);
        Life a = time.start("a", store);
        time.start("b", store);
        FleetHold year = wish(1, 9, FleetHold.ALL, 365 * 86_400);
        assertThat(a.member.hold(year)).isTrue();
        time.seconds(40);
        assertThat(wanting(year)).containsExactly("a", "b");
        assertThat(a.member.counters().failed()).isZero();
    }

    @Test
    @DisplayName("a hold that two processes took ends when one releases it, and stays over")
    void tombstones() {
        Life a = time.start("a");
        Life b = time.start("b");
        time.start("c");
        FleetHold hold = wish(1, 9, FleetHold.ALL, 600);
        a.member.hold(hold);
        b.member.hold(wish(1, 9, FleetHold.ALL, 900));
        time.seconds(30);
        assertThat(wanting(hold)).containsExactly("a", "b", "c");
        assertThat(time.lives.get("c").member.wanted().getFirst().leaseMillis()).isGreaterThan(800_000);

        assertThat(a.member.release(hold.id())).isTrue();
        assertThat(a.member.release(hold.id())).isFalse();
        assertThat(wanting(hold)).containsExactly("b", "c");
        time.seconds(SOON);
        for (int second = 0; second < 200; second++) {
            time.seconds(1);
            assertThat(wanting(hold)).isEmpty();
        }
        assertThat(b.member.hold(hold)).isFalse();

        // One that did not take it may end it too.
        FleetHold other = wish(2, 10, 1, 600);
        a.member.hold(other);
        time.seconds(SOON);
        assertThat(time.lives.get("c").member.release(other.id())).isTrue();
        time.seconds(SOON);
        assertThat(wanting(other)).isEmpty();
        assertThat(a.member.fleetHolds()).isEmpty();
    }

    @Test
    @DisplayName("one view has all holds, who is chosen and what each engine says")
    void oneView() {
        Life a = time.start("a");
        Life b = time.start("b");
        FleetHold all = wish(1, 9, FleetHold.ALL, 600);
        a.member.hold(all);
        time.seconds(12);
        a.copies = List.of(new HeldCopy(all.id(), HeldCopy.State.HELD, 64, ""));
        b.copies = List.of(new HeldCopy(all.id(), HeldCopy.State.WAITING, 0, "no tokens"));
        time.seconds(SOON);
        for (Life each : List.of(a, b)) {
            FleetHoldView view = each.member.fleetHolds().getFirst();
            assertThat(view.ours()).isEqualTo(each == a);
            assertThat(view.chosen()).containsExactlyInAnyOrder("a", "b");
            assertThat(view.copies()).containsEntry("a", a.copies.getFirst()).containsEntry("b", b.copies.getFirst());
        }
    }

    @Test
    @DisplayName("a cell has 200 holds, and what is beyond is counted")
    void boundedHolds() {
        Life a = time.start("a");
        Life b = time.start("b");
        for (int i = 0; i < 150; i++) {
            assertThat(a.member.hold(wish(i, i + 1, 1, 600))).isTrue();
            assertThat(b.member.hold(wish(1_000 + i, i + 1, 1, 600))).isTrue();
        }
        time.seconds(SOON);
        assertThat(a.member.fleetHolds()).hasSize(200);
        assertThat(a.member.hold(wish(5_000, 1, 1, 600))).isFalse();
        assertThat(a.member.counters().refused()).containsKey(Refusal.TOO_MANY);
    }

    @Test
    @DisplayName("two halves of a parted store serve their own engines, and one cell again when they meet")
    void partition() {
        MapStore other = new MapStore(() -> time.now);
        MapStore[] reached = {time.store, time.store};
        for (int i = 0; i < 4; i++) {
            int half = i / 2;
            time.start("abcd".substring(i, i + 1), new DividedStore(() -> reached[half]));
        }
        FleetHold two = wish(1, 77, 2, 3_600);
        time.lives.get("a").member.hold(two);
        time.seconds(30);
        List<String> chosen = new Rendezvous(List.of("a", "b", "c", "d")).top(77, 2);
        assertThat(wanting(two)).containsExactlyInAnyOrderElementsOf(chosen);

        reached[1] = other;
        time.seconds(40);
        assertThat(ids(time.lives.get("a").member.view())).containsExactly("a", "b");
        assertThat(ids(time.lives.get("d").member.view())).containsExactly("c", "d");
        // Of the half without its taker it is gone: what is not renewed ends.
        assertThat(wanting(two)).containsExactly("a", "b");

        reached[1] = time.store;
        time.seconds(SOON);
        assertThat(wanting(two)).containsExactlyInAnyOrderElementsOf(chosen);
    }

    @Test
    @DisplayName("above 100 engines sums are read, below 80 digests again, and holds find their engines throughout")
    void largeCells() {
        List<String> engines = IntStream.range(0, 150).mapToObj(i -> "e" + i).toList();
        FleetHold three = wish(1, 77, 3, 36_000);
        for (int count = 1; count <= 150; count++) {
            Life life = time.start(engines.get(count - 1));
            // All have one prefix in common and one of their own; every second is more than a sum's share.
            life.hot = hot(end(1, 36, true, false), end(1_000 + count, 72, true, false));
            if (count == 1) {
                life.member.hold(three);
            }
            if (count == 90 || count == 150) {
                time.seconds(SOON + 12);
                assertThat(life.member.view().sums()).isEqualTo(count == 150);
                assertThat(life.member.view().engines()).hasSize(count);
            }
        }
        time.seconds(60);
        Life first = time.lives.get("e0");
        CellView view = first.member.view();
        assertThat(view.prefix(1).orElseThrow().touchesAnHour()).isBetween(36 * 135.0, 36 * 165.0);
        assertThat(view.prefix(1_100).orElseThrow().touchesAnHour()).isBetween(50.0, 95.0);
        assertThat(view.share(1)).isBetween(1 / 165.0, 1 / 135.0);
        assertThat(view.worthHere(1)).isEqualTo(1);
        assertThat(wanting(three)).containsExactlyInAnyOrderElementsOf(new Rendezvous(engines).top(77, 3));
        engines.subList(85, 150).forEach(engine -> time.lives.get(engine).polled = false);
        time.seconds(60);
        assertThat(first.member.view().engines()).hasSize(85);
        assertThat(first.member.view().sums()).isTrue();
        // A window follows the other, and nobody loses the thread.
        time.seconds(550);
        view = first.member.view();
        assertThat(view.prefix(1).orElseThrow().touchesAnHour()).isBetween(36 * 75.0, 36 * 95.0);
        assertThat(view.prefix(1_080).orElseThrow().touchesAnHour()).isBetween(50.0, 95.0);
        assertThat(time.store.windows()).isEqualTo(2);

        engines.subList(70, 85).forEach(engine -> time.lives.get(engine).polled = false);
        time.seconds(60);
        assertThat(first.member.view().sums()).isFalse();
        assertThat(first.member.view().prefix(1).orElseThrow().copies()).hasSize(70);
        assertThat(wanting(three))
                .containsExactlyInAnyOrderElementsOf(new Rendezvous(engines.subList(0, 70)).top(77, 3));
    }

    @Test
    @DisplayName("above 200 engines nobody tells a digest, and below all are told again before they are read")
    void digestsThatNobodyReads() {
        for (int i = 0; i < 220; i++) {
            time.start("e" + i).hot = hot(end(1, 36, true, false));
        }
        time.seconds(90);
        assertThat(digests()).isZero();
        for (int i = 150; i < 220; i++) {
            time.lives.get("e" + i).polled = false;
        }
        time.seconds(60);
        assertThat(time.lives.get("e0").member.view().sums()).isTrue();
        assertThat(digests()).isEqualTo(150);
    }

    /** How many engines tell theirs within a round. */
    private long digests() {
        time.store.clear();
        time.seconds(12);
        return time.store.all().keySet().stream()
                .filter(key -> key.kind().equals(Digest.KIND))
                .count();
    }

    @Test
    @DisplayName("the store can only add: hostile values and moods leave each engine alone, or what honest members say")
    void onlyAdds() {
        int rounds = System.getProperty("holdfast.scale", "slice").equals("deep") ? 400 : 20;
        SplittableRandom random = new SplittableRandom(7);
        Life a = time.start("a");
        Life b = time.start("b");
        a.hot = hot(end(1, 30, true, true), end(2, 5, false, false));
        b.hot = hot(end(1, 10, true, false));
        FleetHold all = wish(1, 9, FleetHold.ALL, 36_000);
        a.member.hold(all);
        time.seconds(30);
        List<Map.Entry<Key, byte[]>> honest = List.copyOf(time.store.all().entrySet());
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < 250; i++) {
                Map.Entry<Key, byte[]> seed = honest.get(random.nextInt(honest.size()));
                String name = random.nextInt(3) == 0 ? seed.getKey().name() : "x" + random.nextInt(150);
                time.store.plant(
                        new Key(CELL.id(), seed.getKey().kind(), name), FormsTest.mutated(seed.getValue(), random));
            }
            time.seconds(12);
            CellView view = a.member.view();
            for (long name = -3; name < 4; name++) {
                assertThat(view.worthHere(name)).isBetween(0.0, 1.0);
                assertThat(view.share(name)).isBetween(0.0, 1.0);
            }
            assertThat(view.engines()).hasSizeLessThanOrEqualTo(CellMember.MOST_ENGINES);
            assertThat(a.member.fleetHolds()).hasSizeLessThanOrEqualTo(CellMember.MOST_HOLDS);
            if (round % 5 == 4) {
                Mood[] moods = Mood.values();
                time.store.mood = moods[random.nextInt(1, moods.length)];
                time.seconds(SOON);
                for (Life each : List.of(a, b)) {
                    assertThat(each.member.view()).isSameAs(CellView.NONE);
                    assertThat(each.member.view().worthHere(random.nextLong())).isEqualTo(1);
                    assertThat(each.member.wanted()).isEmpty();
                }
                time.store.mood = Mood.WELL;
                time.seconds(SOON);
                assertThat(ids(a.member.view())).contains("a");
                // A sign that was made up well may hide an engine, until it is forgotten.
                time.seconds(90);
                assertThat(ids(a.member.view())).contains("a", "b");
            }
        }
        assertThat(a.member.counters().refused())
                .containsKeys(Refusal.MALFORMED, Refusal.UNKNOWN_VERSION, Refusal.OTHER_KEY);
        time.seconds(120);
        assertThat(ids(a.member.view())).containsExactly("a", "b");
        assertThat(wanting(all)).containsExactly("a", "b");
    }

    @Test
    @DisplayName("a store of 1,000 engines and more values than it was asked for is read in bounds")
    void floods() {
        Life a = time.start("a");
        time.seconds(3);
        for (int i = 0; i < 3_000; i++) {
            time.store.plant(
                    new Key(CELL.id(), "engine", "x" + i), new Presence("x" + i, "", i, 1, 0).bytes(CELL.id()));
        }
        time.seconds(SOON);
        assertThat(a.member.view().engines()).hasSizeLessThanOrEqualTo(CellMember.MOST_ENGINES);
        time.seconds(60);
        assertThat(ids(a.member.view())).containsExactly("a");
    }

    @Test
    @DisplayName("round robin makes no copy superfluous, a router that looks at caches does")
    void measuredTogether() {
        for (boolean aware : List.of(true, false)) {
            CellTime cell = new CellTime(aware ? 1 : 2);
            List<Life> lives =
                    IntStream.range(0, 4).mapToObj(i -> cell.start("e" + i)).toList();
            SplittableRandom random = new SplittableRandom(3);
            double[][] rates = new double[4][40];
            cell.seconds(300, () -> {
                for (int request = 0; request < 4; request++) {
                    int name = random.nextInt(40);
                    // Each prefix is resident at the first engine or the one after it, for good.
                    rates[aware ? name % 4 : random.nextInt(4)][name] += 10;
                }
                for (int i = 0; i < 4; i++) {
                    HotEnd[] ends = new HotEnd[40];
                    for (int name = 0; name < 40; name++) {
                        rates[i][name] *= 0.998;
                        ends[name] = end(name + 1, rates[i][name], name % 4 == i || name % 4 == (i + 1) % 4, false);
                    }
                    lives.get(i).hot = hot(ends);
                }
            });
            for (Life life : lives) {
                double follows = life.member.view().follows();
                long superfluous = IntStream.rangeClosed(1, 40)
                        .filter(name -> life.member.view().superfluous(name))
                        .count();
                if (aware) {
                    assertThat(follows).isGreaterThan(0.9);
                    assertThat(superfluous).isBetween(20L, 40L);
                } else {
                    assertThat(follows).isZero();
                    assertThat(superfluous).isZero();
                }
            }
        }
    }
}
