package io.holdfast.loadtest.run;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.FlushReceipt;
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

/**
 * What a load test of A/A pairs alone will send, and how long that will take by a few requests of each kind sent before.
 *
 * @param pairs that count
 * @param legs those of the rehearsal included
 * @param tokens that all requests send together, as the load test counts them
 */
public record RunPlan(int pairs, int legs, long requests, long tokens, Duration estimate) {
    /** Of the legs of a life, the one that is not measured: its requests are free for trying. */
    private static final int TRIAL_LEG = 0;

    /** The life of the trial, which is none. */
    private static final int TRIAL_LIFE = -1;

    private static final long NANOS = 1_000_000_000;

    /**
     * Waits until the engine is ready and tries what the legs will ask of it. What cannot work is said here, in one
     * sentence, before anything is measured.
     */
    public static RunPlan ofControls(RunEnvironment environment, Workload workload, LoadTestSettings settings) {
        environment.engine().beginLife();
        FlushReceipt flush = environment.holder().follow(environment.engine()::flush);
        flush.problem().ifPresent(why -> {
            throw new LoadTestException("The cache cannot be emptied before a leg: " + why
                    + "; leave the flush path out, and the texts of each leg begin with a salt of their own.");
        });
        Map<Role, Double> nanosOfARequest = trial(environment, workload, settings);
        double leg = settings.holdSlot().toNanos();
        for (Phase phase : workload.phases(1)) {
            leg += nanosOfARequest.getOrDefault(phase.role(), 0.0)
                    * phase.requests().size();
        }
        List<LoadRequest> requests = settings.requests(workload, 1, 1);
        int legs = 2 * (settings.rounds() + (settings.rehearsal() ? 1 : 0));
        return new RunPlan(
                settings.rounds(),
                legs,
                (long) legs * requests.size(),
                legs * requests.stream().mapToLong(LoadRequest::length).sum(),
                Duration.ofSeconds(Math.round(Math.ceil(leg * legs / NANOS))));
    }

    /** One wave of each kind of request, under way together as they will be; what each of a kind took. */
    private static Map<Role, Double> trial(RunEnvironment environment, Workload workload, LoadTestSettings settings) {
        List<LoadRequest> all = settings.requests(workload, TRIAL_LIFE, TRIAL_LEG);
        Map<Role, List<LoadRequest>> waves = new EnumMap<>(Role.class);
        for (LoadRequest request : all) {
            List<LoadRequest> wave = waves.computeIfAbsent(request.role(), role -> new ArrayList<>());
            if (wave.size() < (request.role() == Role.FLOOD ? settings.concurrency() : 1)) {
                wave.add(request);
            }
        }
        Load load = environment
                .engine()
                .prepare(waves.values().stream().flatMap(List::stream).toList());
        load.connect(settings.concurrency());
        Map<Role, Double> nanos = new EnumMap<>(Role.class);
        waves.forEach((role, wave) -> {
            long began = environment.clock().nanos();
            load.send(wave.size(), wave.size()).forEach(RunPlan::refuseFailed);
            nanos.put(role, (double) (environment.clock().nanos() - began) / wave.size());
        });
        return nanos;
    }

    private static void refuseFailed(RequestRecord record) {
        if (!record.isOk()) {
            throw new LoadTestException("A request of the workload failed before the load began: " + record.problem()
                    + "; ask for smaller ones, or see the server's log.");
        }
    }
}
