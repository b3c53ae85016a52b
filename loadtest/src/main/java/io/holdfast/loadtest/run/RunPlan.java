package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Phase;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Requests that a load test will send, and the time for them, estimated from a few requests of each kind.
 *
 * @param pairs that count
 * @param legs those of the rehearsal included
 * @param tokens that all requests send together, as the load test counts them
 */
public record RunPlan(int pairs, int legs, long requests, long tokens, Duration estimate) {
    /** The leg of a life that is not measured: its requests are free for trying. */
    private static final int TRIAL_LEG = 0;

    /** Life number of the trial, which is no real life. */
    private static final int TRIAL_LIFE = -1;

    private static final long NANOS = 1_000_000_000;

    /**
     * Waits until the engine is ready and tries what the legs will ask of it. What cannot work is said here, in one
     * sentence, before anything is measured. Where the data is looked at more than once, the plan is up to the last look.
     */
    public static RunPlan of(RunEnvironment environment, Workload workload, LoadTestPlan settings) {
        int pairs = settings.design().round().size() * settings.rounds();
        environment.engine().beginLife();
        environment.arms().prepare();
        if (settings.salt().isEmpty()) {
            FlushReceipt flush = environment.arms().follow(environment.engine()::flush);
            flush.problem().ifPresent(why -> {
                throw new LoadTestException("The cache cannot be emptied before a leg: " + why
                        + "; leave the flush path out, and the texts of each leg begin with a salt of their own.");
            });
        }
        Map<Role, Double> nanosOfARequest = trial(environment, workload, settings);
        double leg = settings.holdSlot().plus(settings.pauseAfterFlush()).toNanos();
        for (Phase phase : workload.phases(1)) {
            double one = nanosOfARequest.getOrDefault(kind(phase), 0.0);
            leg += phase.hasTurns()
                    ? phase.turns().getLast() + one
                    : one * phase.requests().size();
        }
        leg = environment.arms().legsTake(Duration.ofNanos(Math.round(leg))).toNanos();
        List<LoadRequest> requests = settings.requests(workload, 1, 1);
        int lives = pairs + (settings.rehearsal() ? 1 : 0);
        int legs = settings.legsPerLife() * lives;
        boolean freshLegs = environment.engine().givesFreshLegs();
        double beginnings = (double) environment.engine().lifeTakes().toNanos() * (freshLegs ? legs : lives);
        // A leg that has a process of its own has a burn-in leg before it.
        long ran = freshLegs ? 2L * legs : legs;
        return new RunPlan(
                pairs,
                legs,
                ran * requests.size(),
                ran * requests.stream().mapToLong(LoadRequest::length).sum(),
                Duration.ofSeconds(Math.round(Math.ceil((beginnings + leg * ran) / NANOS))));
    }

    /** Sends one wave of each kind of request, under way together as they will be; returns what each of a kind took. */
    private static Map<Role, Double> trial(RunEnvironment environment, Workload workload, LoadTestPlan settings) {
        Map<Role, List<LoadRequest>> waves = new EnumMap<>(Role.class);
        for (Phase phase : workload.phases(TRIAL_LEG)) {
            List<LoadRequest> wave = waves.computeIfAbsent(kind(phase), role -> new ArrayList<>());
            phase.requests().stream()
                    .limit(Math.max(
                            0, (phase.isFlood() && !phase.hasTurns() ? settings.concurrency() : 1) - wave.size()))
                    .map(request -> settings.request(request, TRIAL_LIFE, TRIAL_LEG))
                    .forEach(wave::add);
        }
        List<LoadRequest> first = waves.containsKey(Role.PRIME)
                ? List.of()
                : waves.values().stream().flatMap(List::stream).limit(1).toList();
        Load load = environment
                .engine()
                .prepare(Stream.concat(first.stream(), waves.values().stream().flatMap(List::stream))
                        .toList());
        load.connect(settings.concurrency());
        if (!first.isEmpty()) {
            // What comes first takes what comes only once, and where there is no prime that would count many times.
            load.send(1, 1).forEach(RunPlan::refuseFailed);
        }
        Map<Role, Double> nanos = new EnumMap<>(Role.class);
        waves.forEach((role, wave) -> {
            long began = environment.clock().nanos();
            load.send(wave.size(), wave.size()).forEach(RunPlan::refuseFailed);
            nanos.put(role, (double) (environment.clock().nanos() - began) / wave.size());
        });
        return nanos;
    }

    /** Returns the role that a phase's requests resemble: learning sends floods and probes, which take as long. */
    private static Role kind(Phase phase) {
        return phase.role() != Role.LEARN ? phase.role() : phase.isFlood() ? Role.FLOOD : Role.PROBE;
    }

    private static void refuseFailed(RequestRecord record) {
        if (!record.isOk()) {
            throw new LoadTestException("A request of the workload failed before the load began: " + record.problem()
                    + "; ask for smaller ones, or see the server's log.");
        }
    }
}
