package io.holdfast.core.hold;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.ControllerHarness;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletionStage;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/**
 * A week of holds with leases of all kinds, beside users, evictions, flushes, engines that restart and controllers that are
 * killed, against a second writing of the rules: what is wanted and in the cache is pinned, nothing else is.
 */
final class LeaseWeekTest {
    private static final int SEEDS = "deep".equals(System.getProperty("holdfast.scale", "slice")) ? 200 : 2;
    private static final long[][] PATHS = {{1, 2}, {1, 2, 3, 4}, {11, 12}, {11, 12, 13}, {21}, {31, 32, 33}};
    private static final String[] REQUESTERS = {"a", "b", "c"};
    private static final long SECOND = ControllerHarness.SECOND;
    private static final long WEEK = 7 * 86_400 * SECOND;

    @Test
    void week_ofRandomLeases_holdsWhatIsWantedAndNothingElse() {
        Map<String, Integer> seen = new LinkedHashMap<>();
        for (long seed = 0; seed < SEEDS; seed++) {
            new Week(seed, seen).play();
        }
        assertThat(seen.keySet())
                .contains(
                        "prolonged",
                        "capped",
                        "extended",
                        "shortened",
                        "joined",
                        "renewed",
                        "left",
                        "over",
                        "flushed",
                        "restarted",
                        "killed",
                        "evicted",
                        "ended while lost",
                        "ended while held",
                        "held again");
    }

    /** One claim, by the rules as they are told to people. */
    private static final class Claim {
        final Lease lease;
        long set;
        long end;
        long cap;

        Claim(Lease lease, long now) {
            this(lease, now, now + lease.length().toNanos());
        }

        private Claim(Lease lease, long now, long end) {
            this.lease = lease;
            this.set = now;
            this.end = end;
            this.cap = Math.max(end, now + lease.atMost().toNanos());
        }

        Claim renewed(Lease newest, long now) {
            return new Claim(newest, now, Math.max(end, now + newest.length().toNanos()));
        }
    }

    private record Wanted(int path, Map<String, Claim> claims) {
        boolean shared() {
            return !claims.containsKey("");
        }

        long end() {
            return claims.values().stream().mapToLong(claim -> claim.end).max().orElseThrow();
        }
    }

    private static final class Week {
        private final long seed;
        private final SplittableRandom random;
        private final Map<String, Integer> seen;
        private final ControllerHarness.Disk disk = new ControllerHarness.Disk();
        private final ControllerHarness.Engine engine = new ControllerHarness.Engine();
        private final Map<Long, Wanted> wanted = new LinkedHashMap<>();
        private final Set<Integer> resident = new HashSet<>();
        private final Set<Long> lostOnce = new HashSet<>();
        private ControllerHarness harness;
        private long nextBlock = 1_000;

        Week(long seed, Map<String, Integer> seen) {
            this.seed = seed;
            this.random = new SplittableRandom(seed);
            this.seen = seen;
            this.harness = new ControllerHarness(ControllerHarness.SETTINGS, disk, engine);
            harness.idle();
            harness.settle();
        }

        void play() {
            long over = harness.now + WEEK;
            while (harness.now < over) {
                pass(Duration.ofSeconds(random.nextInt(1, 600)));
                check();
                act();
                pass(Duration.ofSeconds(3));
                check();
            }
        }

        private void act() {
            int path = random.nextInt(PATHS.length);
            switch (random.nextInt(24)) {
                case 0, 1, 2 -> ask(path);
                case 3, 4 -> extend();
                case 5 -> release();
                case 6 -> leave();
                case 7 -> say(path, Hint.OVER);
                case 8 -> say(path, random.nextBoolean() ? Hint.USED : Hint.GOES_ON);
                case 9, 10, 11 -> evict(path);
                case 12 -> empty("flushed", () -> harness.cleared());
                case 13 -> empty("restarted", () -> harness.controller.events().restarted(0));
                case 14 -> kill();
                default -> use(path);
            }
        }

        private void ask(int path) {
            if (wanted.size() > 20) {
                return;
            }
            Lease lease = lease();
            String name = random.nextInt(2) == 0 ? "" : REQUESTERS[random.nextInt(REQUESTERS.length)];
            HoldRequest request = new HoldRequest(PATHS[path], lease).withWeight(random.nextInt(1, 101));
            HoldView hold = await(harness.controller.request(name.isEmpty() ? request : request.by(name)));
            Optional<Map.Entry<Long, Wanted>> shared = wanted.entrySet().stream()
                    .filter(each -> !name.isEmpty() && each.getValue().shared() && each.getValue().path == path)
                    .findFirst();
            if (shared.isEmpty()) {
                assertThat(wanted).doesNotContainKey(hold.id());
                wanted.put(hold.id(), new Wanted(path, new LinkedHashMap<>(Map.of(name, new Claim(lease, now())))));
            } else {
                assertThat(hold.id()).isEqualTo(shared.get().getKey());
                Map<String, Claim> claims = shared.get().getValue().claims;
                count(claims.containsKey(name) ? "renewed" : "joined");
                claims.merge(name, new Claim(lease, now()), (old, fresh) -> old.renewed(lease, now()));
            }
        }

        private Lease lease() {
            Duration length = Duration.ofSeconds((long) Math.exp(random.nextDouble(Math.log(20), Math.log(40_000))));
            return switch (random.nextInt(3)) {
                case 0 -> Lease.absolute(length);
                case 1 -> Lease.refreshed(length);
                default -> new Lease(length, true, length.multipliedBy(random.nextInt(1, 5)));
            };
        }

        private void extend() {
            any().ifPresent(id -> {
                Duration length = lease().length();
                Wanted hold = hold(id);
                Optional<String> one = random.nextBoolean()
                        ? Optional.empty()
                        : Optional.of(hold.claims.keySet().iterator().next());
                await(harness.controller.extend(id, one, length));
                hold.claims.forEach((name, claim) -> {
                    if (one.isEmpty() || one.get().equals(name)) {
                        long end = Math.min(now() + length.toNanos(), claim.cap);
                        count(end < claim.end ? "shortened" : "extended");
                        claim.end = end;
                        claim.set = now();
                    }
                });
            });
        }

        private void release() {
            any().ifPresent(id -> {
                wanted.remove(id);
                assertThat(await(harness.controller.release(id)).orElseThrow().state())
                        .isEqualTo(HoldState.RELEASED);
            });
        }

        private void leave() {
            any().filter(id -> hold(id).shared()).ifPresent(id -> {
                String name = hold(id).claims.keySet().iterator().next();
                assertThat(await(harness.controller.leave(id, name))).isPresent();
                left(id, name);
            });
        }

        private void left(long id, String name) {
            count("left");
            hold(id).claims.remove(name);
            wanted.values().removeIf(hold -> hold.claims.isEmpty());
        }

        private void say(int path, Hint hint) {
            String name = REQUESTERS[random.nextInt(REQUESTERS.length)];
            List<Long> concerned = new ArrayList<>();
            wanted.forEach((id, hold) -> {
                boolean is = hint == Hint.OVER
                        ? hold.claims.containsKey(name) && begins(path, hold.path)
                        : begins(hold.path, path)
                                && hold.claims.values().stream().anyMatch(claim -> claim.lease.refreshOnHit());
                if (is) {
                    concerned.add(id);
                }
            });
            assertThat(await(harness.controller.hint(hint, new HoldRequest(PATHS[path], Duration.ofDays(1)), name)))
                    .extracting(HoldView::id)
                    .containsExactlyInAnyOrderElementsOf(concerned);
            if (hint == Hint.OVER) {
                concerned.forEach(id -> left(id, name));
                count(concerned.isEmpty() ? "over for nobody" : "over");
            } else {
                used(path);
            }
        }

        /** A user's request over a path: it brings back what is not there, or goes on from it. */
        private void use(int path) {
            used(path);
            if (resident.contains(path)) {
                long beyond = nextBlock++;
                harness.storedUnder(last(path), beyond);
                harness.removed(beyond);
                return;
            }
            int above = path % 2 == 1 && path < 4 && resident.contains(path - 1) ? PATHS[path - 1].length : 0;
            long[] missing = LongStream.of(PATHS[path]).skip(above).toArray();
            if (above > 0) {
                harness.storedUnder(last(path - 1), missing);
            } else if (path == 1 || path == 3) {
                harness.stored(PATHS[path - 1]);
                harness.storedUnder(
                        last(path - 1),
                        LongStream.of(PATHS[path]).skip(PATHS[path - 1].length).toArray());
            } else {
                harness.stored(missing);
            }
            for (int each = 0; each < PATHS.length; each++) {
                if (begins(each, path)) {
                    resident.add(each);
                }
            }
        }

        private void used(int path) {
            wanted.values().stream()
                    .filter(hold -> begins(hold.path, path))
                    .forEach(hold -> hold.claims.values().forEach(claim -> {
                        long end = Math.min(now() + claim.lease.length().toNanos(), claim.cap);
                        if (claim.lease.refreshOnHit() && now() > claim.set && end > claim.end) {
                            count(end == claim.cap ? "capped" : "prolonged");
                            claim.end = end;
                            claim.set = now();
                        }
                    }));
        }

        private void evict(int path) {
            boolean needed = wanted.values().stream().anyMatch(hold -> begins(path, hold.path));
            boolean goesOn = path % 2 == 0 && resident.contains(path + 1) && begins(path, path + 1);
            if (!needed && !goesOn && resident.remove(path)) {
                boolean shorter = path % 2 == 1 && begins(path - 1, path);
                harness.removed(LongStream.of(PATHS[path])
                        .skip(shorter ? PATHS[path - 1].length : 0)
                        .toArray());
                count("evicted");
            }
        }

        private void empty(String how, Runnable events) {
            count(how);
            engine.pins.clear();
            resident.clear();
            events.run();
            lostOnce.addAll(wanted.keySet());
        }

        /** The controller is gone, and the next one is told what was kept. */
        private void kill() {
            count("killed");
            List<HoldView> before = harness.controller.view().holds();
            long clock = harness.now;
            harness = new ControllerHarness(ControllerHarness.SETTINGS, disk, engine);
            harness.now = clock;
            harness.idle();
            for (HoldView hold : before) {
                if (wanted.containsKey(hold.id())) {
                    harness.controller.restore(
                            hold.id(),
                            new HoldRequest(PATHS[hold(hold.id()).path], Duration.ofDays(1)),
                            hold.claims(),
                            "asked for before");
                }
            }
            harness.settle();
            wanted.values().forEach(hold -> hold.claims.values().forEach(claim -> claim.set = now()));
            // The engine tells once more what it has.
            for (int path = 0; path < PATHS.length; path++) {
                if (resident.contains(path)) {
                    int above = path % 2 == 1 && begins(path - 1, path) ? PATHS[path - 1].length : 0;
                    long[] blocks = LongStream.of(PATHS[path]).skip(above).toArray();
                    if (above > 0) {
                        harness.storedUnder(last(path - 1), blocks);
                    } else {
                        harness.stored(blocks);
                    }
                }
            }
        }

        private void check() {
            Map<Long, HoldView> holds = new LinkedHashMap<>();
            harness.controller.view().holds().forEach(hold -> holds.put(hold.id(), hold));
            for (Iterator<Map.Entry<Long, Wanted>> each = wanted.entrySet().iterator(); each.hasNext(); ) {
                Map.Entry<Long, Wanted> entry = each.next();
                boolean there = resident.contains(entry.getValue().path);
                entry.getValue().claims.values().removeIf(claim -> claim.end <= now());
                if (entry.getValue().claims.isEmpty()) {
                    count(there ? "ended while held" : "ended while lost");
                    each.remove();
                    continue;
                }
                HoldView hold = holds.get(entry.getKey());
                assertThat(hold).as("seed %d, %s is wanted", seed, entry).isNotNull();
                assertThat(hold.state() == HoldState.HELD)
                        .as("seed %d at %d s: %s, in the cache %s", seed, now() / SECOND, hold, there)
                        .isEqualTo(there);
                assertThat(hold.leaseLeft().toNanos())
                        .as("seed %d at %d s: %s", seed, now() / SECOND, hold)
                        .isEqualTo(entry.getValue().end() - now());
                count(there && lostOnce.remove(hold.id()) ? "held again" : "as it should be");
            }
            holds.values().stream()
                    .filter(hold -> hold.state() != HoldState.RELEASED)
                    .forEach(hold -> assertThat(wanted)
                            .as("seed %d at %d s: nobody wants %s", seed, now() / SECOND, hold)
                            .containsKey(hold.id()));
            Set<Long> pinned = new HashSet<>();
            wanted.values().stream()
                    .filter(hold -> resident.contains(hold.path))
                    .forEach(hold -> pinned.add(last(hold.path)));
            assertThat(engine.pins.keySet())
                    .as("seed %d at %d s: what is pinned", seed, now() / SECOND)
                    .isEqualTo(pinned);
            assertThat(engine.pins.values()).as("seed %d: once each", seed).allMatch(count -> count == 1);
        }

        private Wanted hold(long id) {
            return Optional.ofNullable(wanted.get(id)).orElseThrow();
        }

        private Optional<Long> any() {
            return wanted.isEmpty()
                    ? Optional.empty()
                    : wanted.keySet().stream()
                            .skip(random.nextInt(wanted.size()))
                            .findFirst();
        }

        private <T> T await(CompletionStage<T> stage) {
            harness.settle();
            return stage.toCompletableFuture().join();
        }

        private void pass(Duration time) {
            harness.pass(time);
        }

        private long now() {
            return harness.now;
        }

        private void count(String what) {
            seen.merge(what, 1, Integer::sum);
        }

        private static long last(int path) {
            return PATHS[path][PATHS[path].length - 1];
        }

        private static boolean begins(int shorter, int longer) {
            return shorter >= 0
                    && PATHS[shorter].length <= PATHS[longer].length
                    && PATHS[longer][PATHS[shorter].length - 1] == last(shorter);
        }
    }
}
