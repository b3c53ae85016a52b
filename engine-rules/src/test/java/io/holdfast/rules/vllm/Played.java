package io.holdfast.rules.vllm;

import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.engine.Generation;
import io.holdfast.rules.engine.Gpu;
import io.holdfast.rules.engine.Model;
import io.holdfast.rules.engine.Pass;
import io.holdfast.rules.engine.RequestOptions;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.engine.TokenListener;
import io.holdfast.rules.engine.VirtualClock;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.kvcached.ElasticPool;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;

/** A workload that an engine has answered, in emulated time, as its clients saw it. */
final class Played {
    /** One client's view. */
    static final class Call implements TokenListener {
        private final VirtualClock clock;
        final double sent;
        final List<Double> heard = new ArrayList<>();
        int cachedTokens;
        Optional<String> failure = Optional.empty();

        Call(VirtualClock clock, double sent) {
            this.clock = clock;
            this.sent = sent;
        }

        @Override
        public void token(int token, int count, int cached, boolean last) {
            heard.add(clock.nanos() / 1e9);
            cachedTokens = cached;
        }

        @Override
        public void failed(String message) {
            failure = Optional.of(message);
        }

        double ttft() {
            return heard.getFirst() - sent;
        }

        double end() {
            return heard.getLast();
        }

        DoubleStream gaps() {
            return IntStream.range(1, heard.size()).mapToDouble(i -> heard.get(i) - heard.get(i - 1));
        }
    }

    final VirtualClock clock = new VirtualClock();
    final List<Call> calls = new ArrayList<>();
    final List<CacheEvent> events = new ArrayList<>();
    final List<Step> steps = new ArrayList<>();
    final VllmEngine engine;

    /** One pass, and what ran and waited after it. */
    record Step(Pass pass, int running, int waiting, double seconds) {}

    private Played(VllmSettings settings, Faults faults) {
        engine = new VllmEngine(
                settings,
                faults,
                clock,
                new Gpu(new Speed(0, 0, 0, 1), faults, clock, () -> false),
                Model.seeded(1, 30_000),
                events::addAll,
                ElasticPool.OWN);
    }

    static Played of(Profile profile, Rates rates, Workload workload) {
        return of(Stage.settings(profile, rates), Faults.none(), workload);
    }

    static Played of(VllmSettings settings, Faults faults, Workload workload) {
        Played played = new Played(settings, faults);
        while (!played.engine.stats().ready()) {
            played.engine.step();
        }
        played.play(workload);
        return played;
    }

    private void play(Workload workload) {
        double start = clock.nanos() / 1e9;
        int next = 0;
        boolean idle = false;
        while (next < workload.arrivals().size() || !idle) {
            while (next < workload.arrivals().size()) {
                Workload.Arrival arrival = workload.arrivals().get(next);
                double sent = start + arrival.seconds();
                if (sent > clock.nanos() / 1e9 && !idle) {
                    break;
                }
                clock.await(Math.round(sent * 1e9));
                idle = false;
                Call call = new Call(clock, sent);
                calls.add(call);
                engine.submit(new Generation(
                        arrival.prompt().toArray(),
                        RequestOptions.of(arrival.answer()),
                        true,
                        Math.round(sent * 1e9),
                        call));
                next++;
            }
            long before = clock.nanos();
            idle = !engine.step();
            Pass pass = engine.pass();
            if (clock.nanos() > before && pass.prefills() + pass.decodes() > 0) {
                VllmStats stats = engine.stats();
                steps.add(new Step(pass, stats.running(), stats.waiting(), (clock.nanos() - before) / 1e9));
            }
        }
    }

    List<Call> answered() {
        return calls.stream().filter(call -> call.failure.isEmpty()).toList();
    }

    double throughput() {
        double first = calls.stream().mapToDouble(call -> call.sent).min().orElseThrow();
        double last = answered().stream().mapToDouble(Call::end).max().orElseThrow();
        return answered().stream().mapToInt(call -> call.heard.size()).sum() / (last - first);
    }

    /** Time to the first token, in seconds. */
    double ttft(double quantile) {
        return quantile(answered().stream().mapToDouble(Call::ttft), quantile);
    }

    /** Time between tokens, in seconds. */
    double itl(double quantile) {
        return quantile(answered().stream().flatMapToDouble(Call::gaps), quantile);
    }

    private static double quantile(DoubleStream values, double quantile) {
        double[] sorted = values.sorted().toArray();
        return sorted[(int) Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))];
    }
}
