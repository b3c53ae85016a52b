package io.holdfast.core;

import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.Backends;
import io.holdfast.core.backend.Capabilities;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/**
 * Asks the backend what it can do on this engine: at the start, after a restart, when the engine answers again after a
 * silence in which another one can have been started, and when what it said turned out not to be so.
 */
final class Probing {
    /** No engine is started anew in less, and a busy one is silent for some seconds now and then. */
    private static final long SILENCE_NANOS = 5_000_000_000L;

    private final Backends backends;
    private final Executor acting;
    private final Executor owner;
    private final Runnable onChoice;
    private final Runnable onNews;

    private boolean wanted = true;
    private boolean underWay;
    private OptionalLong silentSince = OptionalLong.empty();
    private Optional<Capabilities> found = Optional.empty();

    /**
     * Asks through {@code acting}, and takes the answer on {@code owner}.
     *
     * @param onChoice another backend is the chosen one from now on
     * @param onNews the answer is another one than the last
     */
    Probing(Backends backends, Executor acting, Executor owner, Runnable onChoice, Runnable onNews) {
        this.backends = backends;
        this.acting = acting;
        this.owner = owner;
        this.onChoice = onChoice;
        this.onNews = onNews;
    }

    /** Returns the last answer; empty before that, and since the engine was started again. */
    Optional<Capabilities> found() {
        return found;
    }

    /** It is better asked again. */
    void again() {
        wanted = true;
    }

    /** Another process may answer by now, and what it can do is not known. */
    void engineRestarted() {
        found = Optional.empty();
        wanted = true;
    }

    /** Hears whether the engine just told its numbers. */
    void answering(boolean answers, long nowNanos) {
        if (!answers) {
            silentSince = OptionalLong.of(silentSince.orElse(nowNanos));
            return;
        }
        // A question that is under way is answered by the engine that answers now.
        wanted |= !underWay && silentSince.isPresent() && nowNanos - silentSince.getAsLong() >= SILENCE_NANOS;
        silentSince = OptionalLong.empty();
    }

    /** Asks, if that is wanted and no question is under way. */
    void poll() {
        if (underWay || !wanted) {
            return;
        }
        underWay = true;
        wanted = false;
        CompletionStage<Capabilities> answer =
                CompletableFuture.completedFuture(backends.chosen()).thenComposeAsync(Backend::probe, acting);
        answer.whenComplete((can, failure) -> owner.execute(() -> answered(
                failure == null ? can : new Capabilities(false, "the backend could not be asked: " + failure))));
    }

    private void answered(Capabilities can) {
        underWay = false;
        Backend before = backends.chosen().itself();
        backends.chosen().probed();
        if (!backends.chosen().itself().equals(before)) {
            onChoice.run();
        }
        if (!found.equals(Optional.of(can))) {
            found = Optional.of(can);
            onNews.run();
        }
    }
}
