package io.holdfast.embed.cell;

import io.holdfast.core.Controller;
import io.holdfast.core.rank.ReuseCounts;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * One engine's part in telling how soon what is used again, and in taking it over from others once, while it is new.
 *
 * <p>The member's thread calls it, but for {@link #takenFrom}.
 */
final class CurveExchange {
    static final Duration EVERY = Duration.ofMinutes(1);
    /** One that is lost does no harm. */
    static final Duration TTL = Duration.ofMinutes(3);

    static final int MOST_ENGINES = 100;

    /** While the engine has not said yet how large its cache is. */
    private static final Duration SOON = Duration.ofSeconds(10);
    /** Part by which another cache may be smaller or larger. */
    private static final double LIKE = 0.1;

    private final Controller controller;
    private final String engine;

    /* Written by whoever answers as well. */
    private volatile Optional<Long> due = Optional.empty();
    private volatile Optional<ReuseCounts> untold = Optional.empty();
    private volatile boolean looks;
    private volatile int takenFrom;

    CurveExchange(Controller controller, String engine) {
        this.controller = controller;
        this.engine = engine;
    }

    /** Number of engines whose counts this one took; 0 where it took none. Any thread may ask. */
    int takenFrom() {
        return takenFrom;
    }

    void poll(long now) {
        if (due.map(at -> now - at < 0).orElse(false)) {
            return;
        }
        due = Optional.of(now + EVERY.toNanos());
        CompletionStage<?> unused = controller.reuse().thenAccept(found -> {
            untold = found.map(reuse -> reuse.counted().atMost(Curves.MOST_WEIGHT))
                    .filter(counts -> !counts.isEmpty());
            looks = found.isPresent() && found.get().mayTake();
            if (found.isEmpty()) {
                due = Optional.of(now + SOON.toNanos());
            }
        });
    }

    /** Counts to be told now; each only once. */
    Optional<Curves> toTell() {
        Optional<Curves> told = untold.flatMap(counts -> capacity().map(tokens -> new Curves(engine, tokens, counts)));
        untold = Optional.empty();
        return told;
    }

    /** Returns true where what others told is to be read, once a minute as long as the engine is new. */
    boolean looks() {
        boolean now = looks;
        looks = false;
        return now;
    }

    /** Takes what engines with a cache like this one told. */
    void read(Collection<Curves> told) {
        List<ReuseCounts> like = told.stream()
                .filter(each -> capacity()
                        .filter(ours -> Math.abs(each.capacityTokens() - ours) <= LIKE * ours)
                        .isPresent())
                .map(Curves::counts)
                .toList();
        like.stream().reduce(ReuseCounts::plus).ifPresent(sum -> {
            CompletionStage<?> unused = controller
                    .takeReuse(sum.atMost(Curves.MOST_WEIGHT))
                    .thenAccept(taken -> {
                        if (taken) {
                            takenFrom = like.size();
                        }
                    });
        });
    }

    private Optional<Long> capacity() {
        double tokens = controller.view().readings().capacityTokens().number().orElse(0);
        return tokens >= 1 ? Optional.of((long) tokens) : Optional.empty();
    }
}
