package io.holdfast.storm;

import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldState;
import io.holdfast.core.hold.HoldView;
import io.holdfast.events.SglangBlockNames;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.storm.StormSidecar.Way;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * One seeded storm on a stock engine that evicts by priority: holds that nobody can take back, through floods, flushes,
 * restarts and kills; and calms in which what the sidecar counts is held against what the engine protects.
 *
 * <p>It may count more: what an answer that was lost may have protected, and what went and came back while events of that
 * time may still have been on their way. It never counts less.
 */
final class ProtectionStorm {
    private static final int CAPACITY = 4_096;
    private static final int PAGE = 16;
    private static final int CONTEXT = 2_048;
    private static final int LONGEST_ANSWER = 64;
    private static final int STEPS = 60;
    private static final Duration CALM = Duration.ofSeconds(80);

    private final Timeline time = new Timeline();
    private final SplittableRandom random;
    private final StormOracle oracle = new StormOracle(time, false);
    private final VirtualEngine engine;
    private final StormProcess sidecar;
    private final List<int[]> prefixes = new ArrayList<>();
    private final Map<String, String> failures = new TreeMap<>();
    private int nextToken = 1_000;
    private int calms;
    private int exact;
    private int protectedCalms;
    private long served;

    ProtectionStorm(long seed) {
        random = new SplittableRandom(seed);
        SglangSettings settings =
                new SglangSettings(CAPACITY, PAGE, CONTEXT, 16, 2048, Variant.STOCK, Eviction.PRIORITY, false, 0, 0.5);
        engine = new VirtualEngine("engine", time, settings, new Speed(20, 2_000, 5_000, 1), oracle);
        sidecar = new StormProcess(
                "sidecar",
                time,
                random.split(),
                oracle,
                engine,
                new StormSidecar.Written(
                        Duration.ofMillis(200),
                        false,
                        Duration.ofMinutes(1),
                        Way.PRIORITY_TOUCH,
                        LONGEST_ANSWER,
                        false,
                        CONTEXT),
                0);
        for (int i = 0; i < 8; i++) {
            prefixes.add(fresh(PAGE * random.nextInt(2, 40)));
        }
        // Some go on from others.
        prefixes.set(1, join(prefixes.get(0), fresh(PAGE * 4)));
    }

    /** What went wrong, by kind. */
    Map<String, String> run() {
        sidecar.start();
        pass(Duration.ofSeconds(3));
        for (int step = 1; step <= STEPS; step++) {
            act();
            pass(Duration.ofMillis(random.nextLong(100, 4_000)));
            if (step % 12 == 0) {
                calm();
            }
        }
        end();
        return failures;
    }

    int calms() {
        return calms;
    }

    /** In so many of them the count was what the engine protects. */
    int exact() {
        return exact;
    }

    /** Calms in which something was protected, and in how many of all the count was exact. */
    String bite() {
        return protectedCalms + " of " + calms + " calms with something protected, " + exact + " counted exactly";
    }

    boolean bites() {
        return protectedCalms > 0;
    }

    private void act() {
        int kind = random.nextInt(100);
        if (kind < 34) {
            int[] prefix = any();
            sidecar.sidecar()
                    .ifPresent(it -> it.hold(
                            SglangBlockNames.of(prefix, PAGE), prefix, Duration.ofSeconds(random.nextLong(5, 90))));
        } else if (kind < 56) {
            send(join(any(), fresh(random.nextInt(1, 200))), random.nextInt(1, 40));
        } else if (kind < 74) {
            int requests = random.nextInt(2, 14);
            for (int i = 0; i < requests; i++) {
                send(fresh(random.nextInt(200, CONTEXT - 100)), random.nextInt(1, LONGEST_ANSWER));
            }
        } else if (kind < 82) {
            sidecar.sidecar().ifPresent(it -> it.releaseOne(random));
        } else if (kind < 85) {
            sidecar.sidecar().ifPresent(it -> {
                it.releaseAll();
                it.resume();
            });
        } else if (kind < 91) {
            sidecar.kill();
            pass(Duration.ofMillis(random.nextLong(4_000)));
            sidecar.start();
        } else if (kind < 94) {
            sidecar.end(sidecar::start);
        } else if (kind < 97) {
            engine.flush(done -> {});
        } else {
            engine.kill();
            pass(Duration.ofSeconds(1));
            engine.start();
        }
    }

    private void calm() {
        pass(CALM);
        calms++;
        if (!sidecar.isUp()) {
            sidecar.start();
            pass(CALM);
        }
        EngineView view = sidecar.sidecar().orElseThrow().view();
        Set<Long> kept = engine.ofPriority(StormSidecar.PRIORITY);
        long counted = view.budget().pinnedTokens();
        long there = (long) kept.size() * PAGE;
        protectedCalms += there > 0 ? 1 : 0;
        exact += counted == there ? 1 : 0;
        String numbers = counted + " counted, " + there + " protected, " + view.certainty() + ", " + view.holds();
        if (counted < there) {
            failures.putIfAbsent("less is counted than is protected", numbers);
        }
        for (HoldView hold : view.holds()) {
            if (hold.state() == HoldState.HELD) {
                honest(hold, kept);
            }
        }
        if (there > CAPACITY / 2) {
            failures.putIfAbsent("more is protected than the share", numbers);
        }
    }

    private void honest(HoldView hold, Set<Long> kept) {
        boolean some = prefixes.stream()
                .map(prefix -> SglangBlockNames.of(prefix, PAGE))
                .filter(names -> names.length == hold.wantedBlocks())
                .anyMatch(names -> Arrays.stream(names).allMatch(kept::contains));
        if (!some) {
            failures.putIfAbsent("said to be held, and not protected", hold.toString());
        }
    }

    /** The largest request is served, and with an empty cache nothing is left in the ledger. */
    private void end() {
        long before = served;
        send(fresh(engine.settings.maxPromptTokens() - LONGEST_ANSWER), LONGEST_ANSWER);
        pass(Duration.ofSeconds(60));
        if (served == before) {
            failures.put("the largest request is not served", oracle.describe(engine, engine.stats()));
        }
        pass(Duration.ofMinutes(2));
        engine.flush(done -> {});
        pass(CALM);
        Map<Long, Boolean> open = sidecar.store.open(engine);
        if (!open.isEmpty()) {
            failures.put("left in the ledger of an empty engine", open.toString());
        }
        oracle.failures().forEach(failures::put);
    }

    private int[] any() {
        return prefixes.get(random.nextInt(prefixes.size()));
    }

    private void send(int[] prompt, int answer) {
        engine.submit(new Generation(prompt, RequestOptions.of(answer), false, time.now(), new TokenListener() {
            @Override
            public void token(int token, int count, int cachedTokens, boolean last) {
                served += last ? 1 : 0;
            }

            @Override
            public void failed(String message) {}
        }));
    }

    private void pass(Duration duration) {
        time.runUntil(time.now() + duration.toNanos());
    }

    private int[] fresh(int tokens) {
        int[] fresh = new int[tokens];
        for (int i = 0; i < tokens; i++) {
            fresh[i] = nextToken++;
        }
        return fresh;
    }

    private static int[] join(int[] a, int[] b) {
        int[] joined = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, joined, a.length, b.length);
        return joined;
    }

    /** Runs seeds and says what became of them. */
    public static void main(String... args) {
        Map<String, Integer> kinds = new TreeMap<>();
        Set<Long> toothless = new HashSet<>();
        int failed = 0;
        int calms = 0;
        int exact = 0;
        long from = Long.parseLong(args[0]);
        long to = Long.parseLong(args[1]);
        for (long seed = from; seed < to; seed++) {
            ProtectionStorm storm = new ProtectionStorm(seed);
            Map<String, String> failures = storm.run();
            if (!storm.bites()) {
                toothless.add(seed);
            }
            calms += storm.calms();
            exact += storm.exact();
            failed += failures.isEmpty() ? 0 : 1;
            failures.keySet().forEach(kind -> kinds.merge(kind, 1, Integer::sum));
            if (args.length > 2) {
                System.out.println("seed " + seed + ": " + storm.bite() + " " + failures);
            }
        }
        System.out.println((to - from) + " storms, " + failed + " failed, " + toothless.size() + " did not bite, "
                + exact + " of " + calms + " counts exact " + kinds);
    }
}
