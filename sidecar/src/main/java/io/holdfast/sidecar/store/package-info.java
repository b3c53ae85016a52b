/**
 * Files of the state directory that outlive the process: holds, what was learned, limits, locks.
 *
 * <p>Must not: a decision about what is kept; the caller decides.
 */
@NullMarked
package io.holdfast.sidecar.store;

import org.jspecify.annotations.NullMarked;
