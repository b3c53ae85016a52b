package io.holdfast.storm;

import io.holdfast.core.index.Gap;
import io.holdfast.core.index.KvEventSink;
import io.holdfast.core.index.StoredBlocks;
import io.holdfast.core.index.Tier;
import io.holdfast.events.QuietStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;

/** The way of one engine's events to one sidecar, with the real order of batches at its end. */
final class EventPath implements VirtualEngine.Ear, QuietStream.ReplayRequester {
    /** How the way is; chances are of 100 batches. */
    record Weather(int lost, int doubled, int overtaken, long delay, boolean answersAsks) {
        static final Weather FAIR = new Weather(0, 0, 0, 2 * Timeline.MILLI, true);

        /** The same with each batch once and in order, as a connection has it. */
        Weather inOrder() {
            return new Weather(lost, 0, 0, delay, answersAsks);
        }
    }

    private final String who;
    private final Timeline time;
    private final SplittableRandom random;
    private final VirtualEngine engine;
    private final StormOracle oracle;
    private final Runnable heard;
    private final QuietStream stream;
    private Weather weather = Weather.FAIR;
    private boolean open = true;
    private boolean connected;
    private long connection;
    private long lastArrival;
    private long asks;
    private Optional<VirtualEngine.Frame> held = Optional.empty();

    /** @param heard called when the sink has heard something */
    EventPath(
            String who,
            Timeline time,
            SplittableRandom random,
            VirtualEngine engine,
            StormOracle oracle,
            KvEventSink sink,
            boolean replay,
            Runnable heard) {
        this.who = who;
        this.time = time;
        this.random = random;
        this.engine = engine;
        this.oracle = oracle;
        this.heard = heard;
        this.stream = new QuietStream(
                oracle.watching() ? new News(sink) : sink, replay ? Optional.of(this) : Optional.empty(), time.now());
        engine.listen(this);
        if (engine.isUp()) {
            up();
        }
    }

    void weather(Weather other) {
        weather = other;
    }

    void round() {
        stream.round(time.now(), connection, connected);
    }

    void close() {
        open = false;
        engine.ignore(this);
    }

    @Override
    public void batch(VirtualEngine.Frame frame) {
        if (!connected || strikes(weather.lost())) {
            return;
        }
        if (held.isEmpty() && strikes(weather.overtaken())) {
            held = Optional.of(frame);
            return;
        }
        travel(frame);
        if (strikes(weather.doubled())) {
            travel(frame);
        }
        held.ifPresent(this::travel);
        held = Optional.empty();
    }

    @Override
    public void down() {
        connected = false;
    }

    @Override
    public void up() {
        time.after(random.nextLong(20, 300) * Timeline.MILLI, () -> {
            if (open && engine.isUp() && !connected) {
                connected = true;
                connection++;
                round();
            }
        });
    }

    @Override
    public void requestReplay(long from) {
        long ask = ++asks;
        if (!weather.answersAsks()) {
            return;
        }
        time.after(travelTime(), () -> {
            List<VirtualEngine.Frame> past = engine.isUp() ? engine.past(from) : List.of();
            if (!engine.isUp()) {
                return;
            }
            time.after(travelTime(), () -> answer(ask, past));
        });
    }

    @Override
    public void stop() {
        asks++;
    }

    private void answer(long ask, List<VirtualEngine.Frame> past) {
        for (VirtualEngine.Frame frame : past) {
            if (!open || ask != asks) {
                return;
            }
            round();
            stream.answered(frame.sequence(), frame.payload());
        }
        if (open && ask == asks) {
            stream.ended();
            heard.run();
        }
    }

    private void travel(VirtualEngine.Frame frame) {
        long by = connection;
        lastArrival = Math.max(lastArrival, time.now() + travelTime());
        time.at(lastArrival, () -> {
            if (open) {
                round();
                stream.live(by, frame.sequence(), frame.payload());
                heard.run();
            }
        });
    }

    private long travelTime() {
        return weather.delay() + random.nextLong(Timeline.MILLI);
    }

    private boolean strikes(int chance) {
        return chance > 0 && random.nextInt(100) < chance;
    }

    /** Notes for the oracle when the sidecar hears that a cache is empty. */
    private final class News implements KvEventSink {
        private final KvEventSink sink;
        private final Map<Long, Integer> heardCopies = new HashMap<>();

        News(KvEventSink sink) {
            this.sink = sink;
        }

        @Override
        public void batchStarted(long sequence, long stampMicros) {
            sink.batchStarted(sequence, stampMicros);
        }

        @Override
        public void stored(StoredBlocks chain) {
            for (int i = 0; i < chain.count(); i++) {
                if (heardCopies.merge(chain.hash(i), 1, Integer::sum) > 1) {
                    oracle.heardTwin(who, chain.hash(i));
                }
            }
            sink.stored(chain);
        }

        @Override
        public void removed(long[] hashes, int from, int to, Tier tier, int group) {
            for (int i = from; i < to; i++) {
                int left = heardCopies.merge(hashes[i], -1, Integer::sum);
                if (left < 2) {
                    oracle.heardTwinGone(who, hashes[i]);
                }
                if (left < 1 && engine.hadTwin(hashes[i]) && engine.resident(hashes[i])) {
                    oracle.touches.mistakenForGone(who, engine, hashes[i]);
                }
            }
            sink.removed(hashes, from, to, tier, group);
        }

        @Override
        public void cleared() {
            heardCopies.clear();
            oracle.heardClear(who);
            sink.cleared();
        }

        @Override
        public void batchEnded() {
            sink.batchEnded();
        }

        @Override
        public void gap(Gap gap) {
            heardCopies.clear();
            sink.gap(gap);
        }

        @Override
        public void restarted(long seen) {
            heardCopies.clear();
            oracle.heardRestart(who);
            sink.restarted(seen);
        }
    }
}
