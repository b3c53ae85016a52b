package io.holdfast.storm;

import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/** What no sidecar can know in time, while no request is there, and until it could be acted on. */
final class Calms {
    private final StormVariant variant;
    private final Timeline time;
    private final SplittableRandom random;
    private final StormOracle oracle;
    private final Map<VirtualEngine, Traffic> traffic;
    private final Map<StormProcess, VirtualEngine> homes;

    Calms(
            StormVariant variant,
            Timeline time,
            SplittableRandom random,
            StormOracle oracle,
            Map<VirtualEngine, Traffic> traffic,
            Map<StormProcess, VirtualEngine> homes) {
        this.variant = variant;
        this.time = time;
        this.random = random;
        this.oracle = oracle;
        this.traffic = traffic;
        this.homes = homes;
    }

    /** Lets the engine finish, does it, and waits until every sidecar could know. */
    void calm(VirtualEngine engine, Runnable what) {
        Traffic own = traffic.get(engine);
        own.calm(true);
        List<StormProcess> here =
                homes.keySet().stream().filter(each -> each.engine() == engine).toList();
        await(20, () -> isIdle(engine), () -> {
            if (!isIdle(engine)) {
                own.calm(false);
                return;
            }
            what.run();
        });
        time.after(Timeline.SECOND / 5, () -> here.forEach(StormProcess::forgetRest));
    }

    private static boolean isIdle(VirtualEngine engine) {
        return engine.ranks().stream().allMatch(VirtualEngine::isIdle);
    }

    private void await(int seconds, BooleanSupplier until, Runnable then) {
        if (until.getAsBoolean() || seconds == 0) {
            then.run();
        } else {
            time.after(Timeline.SECOND, () -> await(seconds - 1, until, then));
        }
    }

    /** Empties the cache. */
    void flush(VirtualEngine engine) {
        engine.ranks().forEach(rank -> rank.flush(_ -> {}));
        Traffic own = traffic.get(engine);
        time.after(random.nextLong(300) * Timeline.MILLI, () -> {
            own.calm(false);
            own.again();
        });
    }

    /** Somebody else pins or lets go, opens a session or closes it, has his own priority. */
    void foreign(VirtualEngine engine) {
        if (variant.soft()) {
            traffic.get(engine).special(variant);
            settleDown(engine);
            return;
        }
        List<Long> mine = oracle.pinnedBy(StormOracle.FOREIGNER, engine);
        if (!mine.isEmpty() && random.nextBoolean()) {
            long block = mine.get(random.nextInt(mine.size()));
            if (!engine.hadTwin(block)) {
                engine.unpin(StormOracle.FOREIGNER, new long[] {block}, _ -> {}, () -> {});
            }
        } else {
            int room = engine.guard() / 3 - mine.size() * 3 * engine.page();
            for (int tries = 0; tries < 10; tries++) {
                long[] path = traffic.get(engine).any().blocks();
                long block = path[path.length - 1];
                if (path.length * engine.page() <= room
                        && engine.endsNode(block)
                        && !engine.hadTwin(block)
                        && oracle.pinnedTokens(engine) + path.length * engine.page() <= engine.guard()) {
                    engine.pin(StormOracle.FOREIGNER, new long[] {block}, _ -> {}, () -> {});
                    break;
                }
            }
        }
        settleDown(engine);
    }

    /** The cache becomes smaller, or whole again. */
    void capacity(VirtualEngine engine) {
        if (homes.keySet().stream().anyMatch(each -> homes.get(each) == engine && !each.isUp())) {
            // Nobody is there to let go of what the smaller cache has no room for.
            return;
        }
        int whole = engine.settings.capacityTokens();
        boolean falls = engine.capacity() == whole;
        int limit = falls ? whole * random.nextInt(75, 95) / 100 / engine.page() * engine.page() : whole;
        engine.ranks().forEach(rank -> rank.limit(limit));
        settleDown(engine);
    }

    /** Good readings at rest, then small requests only, until what is pinned is within the guard again. */
    private void settleDown(VirtualEngine engine) {
        Traffic own = traffic.get(engine);
        own.careful(true);
        List<StormProcess> here =
                homes.keySet().stream().filter(each -> each.engine() == engine).toList();
        here.forEach(each -> {
            each.badReadings(0);
            each.forgetRest();
        });
        await(8, () -> here.stream().allMatch(each -> !each.isUp() || each.restReadings() >= 3), () -> {
            own.calm(false);
            own.again();
            await(30, () -> engine.ranks().stream().allMatch(rank -> oracle.pinnedTokens(rank) <= rank.guard()), () -> {
                engine.ranks()
                        .forEach(rank -> oracle.hasToBeWithinGuard(
                                rank, here.stream().map(each -> each.name).toList()));
                own.careful(false);
            });
        });
    }
}
