package io.holdfast.core.pin;

import io.holdfast.core.pin.LedgerLine.Entry;
import io.holdfast.core.pin.LedgerLine.Header;
import java.io.IOException;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes to the ledger away from the controller's thread, one line after the other, and tells that thread what came of
 * it.
 */
final class LedgerWriter {
    private static final Logger LOG = LoggerFactory.getLogger(LedgerWriter.class);
    private static final long CATCH_UP_EVERY_NANOS = 5_000_000_000L;
    private static final String CLOSED = "the executor that acts for the ledger takes no more work";

    private final Ledger ledger;
    private final SerialExecutor writing;
    private final Executor owner;
    private boolean catchingUp;
    private long nextCatchUpNanos;

    LedgerWriter(Ledger ledger, Executor acting, Executor owner) {
        this.ledger = ledger;
        this.writing = new SerialExecutor(acting);
        this.owner = owner;
    }

    /**
     * Writes an intent, which has to be on the disk before anybody acts on it.
     *
     * @param header what is to be above it
     * @param then told why it is not written, or that it is
     * @param closed told why nothing is written any more, in its place
     */
    void write(Optional<Header> header, Entry intent, Consumer<Optional<String>> then, Consumer<String> closed) {
        writing.execute(
                () -> {
                    Optional<String> unwritten = append(header, intent);
                    owner.execute(() -> then.accept(unwritten));
                },
                () -> owner.execute(() -> closed.accept(CLOSED)));
    }

    private Optional<String> append(Optional<Header> header, Entry intent) {
        try {
            if (header.isPresent()) {
                ledger.append(header.get());
            }
            ledger.append(intent);
            return Optional.empty();
        } catch (IOException | RuntimeException e) {
            return Optional.of(
                    "the ledger cannot be written, and without it a pin could outlive us: " + e.getMessage());
        }
    }

    /**
     * Writes what is only to be known at the next start; answered with whether it is on the disk, as soon as that was
     * tried.
     */
    CompletionStage<Boolean> record(LedgerLine line) {
        CompletableFuture<Boolean> written = new CompletableFuture<>();
        writing.execute(() -> written.complete(ledger.record(line)), () -> {
            LOG.warn("A line is not written to the ledger, since {}.", CLOSED);
            written.complete(false);
        });
        return written;
    }

    /**
     * Writes what could not be written before when the disk allows, even if nothing else has to be written any more.
     */
    void catchUp(long nowNanos) {
        if (catchingUp || nowNanos < nextCatchUpNanos || !ledger.behind()) {
            return;
        }
        catchingUp = true;
        nextCatchUpNanos = nowNanos + CATCH_UP_EVERY_NANOS;
        writing.execute(
                () -> {
                    ledger.retry();
                    owner.execute(() -> catchingUp = false);
                },
                () -> {});
    }
}
