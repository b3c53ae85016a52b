package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A pod whose containers start, crash and end in an order that a seed draws, at moments that it draws as well. */
final class PodOrder {
    /*
     * One order
     * ---------
     * Either container starts, is killed or is told to end, alone or both at once, whatever the other does: also before it
     * serves, and while a hold is requested. In each life of the engine somebody else pins a prefix of their own.
     *
     * Then what is not there is started, and every prefix is computed once more. The sidecar must come to hold what was
     * requested, in this life of the engine and by one pin each. It is told to end, and the engine must have no pin but the
     * one of somebody else, which nobody may have taken. What the engine counts is the measure, and not our ledger.
     */

    private static final int STRANGERS = 90;
    /** So many fit into the room that the engine's largest request leaves. */
    private static final int MOST_PREFIXES = 8;

    private static final Duration LONGEST_PAUSE = Duration.ofMillis(1_500);
    private static final Set<Integer> ENDS = Set.of(0, 143);

    private final SplittableRandom random;
    private final Pod pod;
    private final List<String> told = new ArrayList<>();
    /** Prefixes for which a hold may have been requested. */
    private final Set<Integer> wished = new TreeSet<>();
    /** Holds whose request was accepted, which must outlive whatever comes. */
    private final Set<Integer> taken = new ConcurrentSkipListSet<>();

    private final List<CompletableFuture<Void>> requests = new ArrayList<>();
    private int strangersLife;

    private int leftByKills;

    /**
     * Report of one order.
     *
     * @param left pins that killed sidecars left in the ledger
     */
    record Outcome(int starts, Duration slowestEngine, Duration slowestSidecar, int left) {}

    private enum Step {
        START_ENGINE {
            @Override
            boolean possible(Pod pod) {
                return !pod.engine.runs();
            }
        },
        START_SIDECAR {
            @Override
            boolean possible(Pod pod) {
                return !pod.sidecar.runs();
            }
        },
        KILL_ENGINE {
            @Override
            boolean possible(Pod pod) {
                return pod.engine.runs();
            }
        },
        END_ENGINE {
            @Override
            boolean possible(Pod pod) {
                return pod.engine.runs();
            }
        },
        KILL_SIDECAR {
            @Override
            boolean possible(Pod pod) {
                return pod.sidecar.runs();
            }
        },
        END_SIDECAR {
            @Override
            boolean possible(Pod pod) {
                return pod.sidecar.runs();
            }
        },
        END_BOTH {
            @Override
            boolean possible(Pod pod) {
                return pod.engine.runs() && pod.sidecar.runs();
            }
        },
        HOLD {
            @Override
            boolean possible(Pod pod) {
                return pod.engine.runs() && pod.sidecar.runs();
            }
        };

        abstract boolean possible(Pod pod);

        /** A pod that starts and is used more often than it ends gets further. */
        int weight() {
            return switch (this) {
                case START_ENGINE, START_SIDECAR -> 4;
                case HOLD -> 5;
                case KILL_ENGINE, END_ENGINE, KILL_SIDECAR, END_SIDECAR, END_BOTH -> 1;
            };
        }
    }

    private PodOrder(long seed, Pod pod) {
        this.random = new SplittableRandom(seed);
        this.pod = pod;
    }

    /** Runs the order of a seed; a failure names the steps so far. */
    static Outcome run(long seed, int steps, Path folder) throws IOException {
        try (Pod pod = Pod.in(Files.createDirectories(folder.resolve("order-" + seed)))) {
            PodOrder order = new PodOrder(seed, pod);
            try {
                return order.run(steps);
            } catch (IOException | InterruptedException | RuntimeException | AssertionError e) {
                throw new AssertionError("Order " + seed + " failed: " + order.told, e);
            }
        }
    }

    private Outcome run(int steps) throws IOException, InterruptedException {
        for (int i = 0; i < steps; i++) {
            step();
        }
        settle();
        assertEnded(pod.sidecar.end());
        assertThat(pod.pinnedTokens()).as("tokens that stay pinned").isEqualTo(Pod.TOKENS);
        for (int prefix : wished) {
            assertThat(pod.unpinAsStranger(prefix))
                    .as("pins left of prefix %s", prefix)
                    .isZero();
        }
        assertThat(pod.unpinAsStranger(STRANGERS)).as("pins of somebody else").isEqualTo(1);
        pod.engine.end();
        return new Outcome(
                pod.engine.starts() + pod.sidecar.starts(),
                pod.engine.slowestEnd(),
                pod.sidecar.slowestEnd(),
                leftByKills);
    }

    private void step() throws IOException, InterruptedException {
        List<Step> possible = Stream.of(Step.values())
                .filter(step -> step.possible(pod))
                .flatMap(step -> Stream.generate(() -> step).limit(step.weight()))
                .toList();
        Step step = possible.get(random.nextInt(possible.size()));
        told.add(step.name());
        switch (step) {
            case START_ENGINE -> {
                pod.engine.start();
                perhapsServing(pod.engine);
            }
            case START_SIDECAR -> {
                pod.sidecar.start();
                perhapsServing(pod.sidecar);
            }
            case KILL_ENGINE -> pod.engine.kill();
            case END_ENGINE -> assertThat(pod.engine.end().code()).isIn(ENDS);
            case KILL_SIDECAR -> {
                pod.sidecar.kill();
                leftByKills += pod.ledger().path("pins").size();
            }
            case END_SIDECAR -> assertEnded(pod.sidecar.end());
            case END_BOTH -> endBoth();
            case HOLD -> hold();
        }
        pause();
    }

    /** Most starts are waited for; the others are met before they serve. */
    private void perhapsServing(Pod.Container container) throws IOException {
        if (random.nextInt(4) > 0) {
            Http _ = container.serving();
            told.add("serves");
        }
    }

    private void endBoth() throws IOException, InterruptedException {
        boolean engineFirst = random.nextBoolean();
        (engineFirst ? pod.engine : pod.sidecar).signal("TERM");
        (engineFirst ? pod.sidecar : pod.engine).signal("TERM");
        assertEnded(pod.sidecar.ended());
        assertThat(pod.engine.ended().code()).isIn(ENDS);
    }

    /** Requests holds of one to three prefixes; not all of them are waited for. */
    private void hold() throws IOException {
        strangersPin();
        pod.awaitKnown();
        for (int more = 1 + random.nextInt(3); more > 0 && wished.size() < MOST_PREFIXES; more--) {
            int prefix = wished.size() + 1;
            wished.add(prefix);
            pod.generate(prefix);
            requests.add(CompletableFuture.runAsync(
                    () -> request(prefix), task -> Thread.ofVirtual().start(task)));
        }
        if (random.nextInt(3) > 0) {
            requests.forEach(CompletableFuture::join);
            generateAll();
            awaitHeld();
            told.add("held");
        }
    }

    private void request(int prefix) {
        try {
            Http.Answer answer = pod.request(prefix);
            if (answer.status() == 201 && !answer.json().has("note")) {
                taken.add(prefix);
            }
        } catch (IOException | AssertionError gone) {
            // Its sidecar ended meanwhile, and may have taken it or not.
        }
    }

    private void strangersPin() throws IOException {
        Http _ = pod.engine.serving();
        if (strangersLife != pod.engine.starts()) {
            pod.pinAsStranger(STRANGERS);
            strangersLife = pod.engine.starts();
        }
    }

    private void settle() throws IOException {
        told.add("settle");
        if (!pod.engine.runs()) {
            pod.engine.start();
        }
        if (!pod.sidecar.runs()) {
            pod.sidecar.start();
        }
        strangersPin();
        requests.forEach(CompletableFuture::join);
        // As in a pod, which gets no requests before it is ready.
        pod.awaitKnown();
        generateAll();
        awaitHeld();
        long held = pod.holdsIn("held");
        told.add(held + " held");
        assertThat(held).as("holds that were taken: %s", taken).isBetween((long) taken.size(), (long) wished.size());
    }

    /** An engine that was started anew has nothing of its earlier lives. */
    private void generateAll() throws IOException {
        for (int prefix : wished) {
            pod.generate(prefix);
        }
    }

    /** Waits until no hold waits any more, and the engine has a pin for each and one of somebody else. */
    private void awaitHeld() {
        Pod.await("all that is requested is pinned, and nothing else", this::seen, Seen::settled);
    }

    /** One look at sidecar and engine. */
    private record Seen(long held, long waiting, int pinnedTokens) {
        boolean settled() {
            return waiting == 0 && pinnedTokens == (held + 1) * Pod.TOKENS;
        }
    }

    private Seen seen() {
        try {
            return new Seen(
                    pod.holdsIn("held"),
                    pod.holdsIn("requested") + pod.holdsIn("lost") + pod.holdsIn("expiring"),
                    pod.pinnedTokens());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Before it listens for signals the process ends without a word, and has held nothing. */
    private static void assertEnded(CommandRun run) {
        assertThat(run.code()).as("%s", run).isIn(ENDS);
        assertThat(run.err()).doesNotContain(" ERROR ", "Exception", "stopped before");
    }

    private void pause() {
        if (random.nextBoolean()) {
            LockSupport.parkNanos(random.nextLong(LONGEST_PAUSE.toNanos()));
        }
    }
}
