package io.holdfast.valkey;

import io.holdfast.embed.cell.FleetStoreException;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;

/** Stores for tests, and waiting for what they answer. */
final class Stores {
    /** So long that a busy machine never makes a call fail. */
    static final Duration PATIENT = Duration.ofSeconds(20);

    static final Duration HASTY = Duration.ofMillis(300);
    static final Duration LONG = Duration.ofMinutes(10);
    private static final Executor BACKGROUND = Thread::startVirtualThread;

    private Stores() {}

    static ValkeyFleetStore open(String address, Duration timeout) {
        return ValkeyFleetStore.open(address, Optional.empty(), Optional.empty(), Map.of(), timeout, BACKGROUND);
    }

    static ValkeyFleetStore open(String address, String user, String password, Map<String, String> environment) {
        return ValkeyFleetStore.open(
                address, Optional.of(user), Optional.of(password), environment, PATIENT, BACKGROUND);
    }

    static <T> T done(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }

    /** The sentence of what failed; empty where nothing did. */
    static Optional<String> failure(CompletionStage<?> stage) {
        try {
            stage.toCompletableFuture().join();
            return Optional.empty();
        } catch (CompletionException e) {
            if (e.getCause() instanceof FleetStoreException said) {
                return Optional.of(said.getMessage());
            }
            throw e;
        }
    }

    static boolean works(CompletionStage<?> stage) {
        return failure(stage).isEmpty();
    }
}
