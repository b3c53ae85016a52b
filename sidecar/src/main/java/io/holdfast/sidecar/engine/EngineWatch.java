package io.holdfast.sidecar.engine;

import io.holdfast.core.EngineView;
import io.holdfast.core.PrefixReport;
import io.holdfast.core.Traffic;
import io.holdfast.core.effect.TtftEffect;
import io.holdfast.core.prefix.Sharing;
import io.holdfast.core.reading.EngineReadings;
import io.holdfast.core.reading.Reading;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * What is remembered of one engine for whoever looks at it: how its counters and its effect went, and what its controller
 * last answered. Bounded, and gone with the process. Any thread.
 */
public final class EngineWatch {
    private static final Duration SAMPLES_APART = Duration.ofSeconds(10);
    private static final int SAMPLES = 60;
    private static final int EFFECTS = 240;
    private static final Duration ANSWERS_LAST = Duration.ofSeconds(5);
    private static final Duration WANTED_LASTS = Duration.ofSeconds(15);
    private static final int ANSWER_SECONDS = 1;

    private final EngineLink link;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private final Deque<EffectAt> effects = new ArrayDeque<>();
    private final Answer<Traffic> traffic;
    private final Answer<List<PrefixReport>> prefixes;
    private int windows = -1;
    private Optional<Long> wanted = Optional.empty();

    /** What had been counted at one moment; a counter that the engine does not give is absent. */
    public record Sample(
            long nanos,
            Instant at,
            OptionalDouble promptTokens,
            OptionalDouble cachedTokens,
            Sharing sharing,
            long visibleRequests,
            OptionalDouble requests) {
        /** Whether a counter fell since then, as it does with a restart. */
        private boolean fellSince(Sample before) {
            return fell(before.promptTokens, promptTokens)
                    || fell(before.cachedTokens, cachedTokens)
                    || fell(before.requests, requests)
                    || visibleRequests < before.visibleRequests
                    || sharing.found() < before.sharing.found();
        }

        private static boolean fell(OptionalDouble before, OptionalDouble now) {
            return before.isPresent() && now.isPresent() && now.getAsDouble() < before.getAsDouble();
        }
    }

    /** The effect as it was when a window had ended. */
    public record EffectAt(Instant at, TtftEffect effect) {}

    /** Something that the controller is asked for, at most once in a while. */
    private static final class Answer<T> {
        private final Function<EngineLink, CompletionStage<T>> question;
        private Optional<T> last = Optional.empty();
        private long askedNanos;
        private CompletableFuture<Void> asked = CompletableFuture.completedFuture(null);

        private Answer(Function<EngineLink, CompletionStage<T>> question) {
            this.question = question;
        }
    }

    public EngineWatch(EngineLink link) {
        this.link = link;
        this.traffic = new Answer<>(its -> its.controller().traffic());
        this.prefixes = new Answer<>(its -> its.controller().prefixes());
    }

    public EngineLink link() {
        return link;
    }

    /** Remembers how things stand, where that is due. */
    public synchronized void look(long nanos, Instant at) {
        EngineView view = link.view();
        if (view.ttft().windows() != windows) {
            windows = view.ttft().windows();
            if (view.ttft().effectPercent().isPresent()) {
                add(effects, new EffectAt(at, view.ttft()), EFFECTS);
            }
        }
        if (!samples.isEmpty() && nanos - samples.getLast().nanos < SAMPLES_APART.toNanos()) {
            return;
        }
        EngineReadings readings = view.readings();
        Sample now = new Sample(
                nanos,
                at,
                readings.promptTokens().number(),
                readings.cachedTokens().number(),
                view.sharing(),
                view.counters().visibleRequests(),
                readings.ttftCount().number());
        boolean another = !samples.isEmpty()
                && (now.fellSince(samples.getLast())
                        || now.promptTokens.isPresent()
                                != samples.getLast().promptTokens.isPresent()
                        || now.cachedTokens.isPresent()
                                != samples.getLast().cachedTokens.isPresent());
        if (another) {
            samples.clear();
        }
        add(samples, now, SAMPLES);
    }

    private static <T> void add(Deque<T> ring, T last, int most) {
        ring.addLast(last);
        if (ring.size() > most) {
            ring.removeFirst();
        }
    }

    public synchronized List<EffectAt> effects() {
        return List.copyOf(effects);
    }

    public synchronized List<Sample> samples() {
        return List.copyOf(samples);
    }

    public synchronized Optional<Traffic> traffic() {
        return traffic.last;
    }

    public synchronized Optional<List<PrefixReport>> prefixes() {
        return prefixes.last;
    }

    /** Notes that somebody looks at this engine in detail. */
    public synchronized void want(long nanos) {
        wanted = Optional.of(nanos);
    }

    /** Completed when what the controller answers is fresh enough, or when it takes too long. */
    public synchronized CompletionStage<Void> fresh(long nanos) {
        boolean detailed =
                wanted.map(since -> nanos - since < WANTED_LASTS.toNanos()).orElse(false);
        return detailed
                ? CompletableFuture.allOf(fresh(traffic, nanos), fresh(prefixes, nanos))
                : fresh(traffic, nanos);
    }

    private <T> CompletableFuture<Void> fresh(Answer<T> answer, long nanos) {
        if (!answer.asked.isDone() || (answer.last.isPresent() && nanos - answer.askedNanos < ANSWERS_LAST.toNanos())) {
            return answer.asked;
        }
        answer.askedNanos = nanos;
        answer.asked = answer.question
                .apply(link)
                .toCompletableFuture()
                .thenAccept(told -> {
                    synchronized (this) {
                        answer.last = Optional.of(told);
                    }
                })
                .exceptionally(failure -> null)
                .completeOnTimeout(null, ANSWER_SECONDS, TimeUnit.SECONDS);
        return answer.asked;
    }

    /** The counter of the last sample less that of the first. */
    public static Reading grown(List<Sample> over, Function<Sample, OptionalDouble> counter, Reading now, String what) {
        if (over.size() < 2) {
            return Reading.unknown("it is watched too short a time to say");
        }
        OptionalDouble first = counter.apply(over.getFirst());
        OptionalDouble last = counter.apply(over.getLast());
        if (first.isEmpty() || last.isEmpty()) {
            return now instanceof Reading.Unknown unknown
                    ? unknown
                    : Reading.unknown("the engine did not give it at both ends of the time shown");
        }
        return Reading.known(
                last.getAsDouble() - first.getAsDouble(), what, over.getLast().nanos());
    }
}
