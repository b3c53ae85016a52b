/**
 * Ledgers of a state directory, shown and released with or without a running sidecar.
 */
@NullMarked
package io.holdfast.sidecar.ledger;

import org.jspecify.annotations.NullMarked;
