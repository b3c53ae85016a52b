/**
 * Pins that one engine has, or may have, for us.
 *
 * <p>Lives here: the state machine of pins, the ledger that is written ahead of it, the calls to backends. Must not:
 * what should be pinned, and the file or whatever else a ledger is kept in.
 *
 * <p>An embedder uses {@code Ledger}, {@code LedgerStore}, {@code LedgerLine}, {@code EngineIdentity} and {@code
 * PinsView}.
 */
@NullMarked
package io.holdfast.core.pin;

import org.jspecify.annotations.NullMarked;
