package io.holdfast.core.pin;

import java.io.IOException;
import java.util.List;

/**
 * Keeps the ledger so that it outlives the process.
 *
 * <p>The core does no I/O of its own: the sidecar hands in a file, a router whatever it has.
 */
public interface LedgerStore {
    /** Every line ever appended since the last {@link #replaceWith}, oldest first. */
    List<LedgerLine> read() throws IOException;

    /** Durable when it returns: a crash the instant after must find the line again. */
    void append(LedgerLine line) throws IOException;

    /** Forgets the past but for these lines, all or nothing. */
    void replaceWith(List<LedgerLine> lines) throws IOException;
}
