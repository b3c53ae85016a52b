/**
 * Cost of prefill on an engine.
 *
 * <p>Lives here: which of the engine's numbers tell the time of which requests, and the line through them. Must not:
 * any decision about what a saving is worth.
 *
 * <p>An embedder reads {@code PrefillCost}.
 */
@NullMarked
package io.holdfast.core.cost;

import org.jspecify.annotations.NullMarked;
