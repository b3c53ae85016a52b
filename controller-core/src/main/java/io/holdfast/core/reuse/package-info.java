/**
 * Times for which blocks stay in an engine's cache, and until they are used again.
 *
 * <p>Lives here: what was measured of both. Must not: any decision made of it.
 *
 * <p>An embedder reads {@code Traffic} of the package above.
 */
@NullMarked
package io.holdfast.core.reuse;

import org.jspecify.annotations.NullMarked;
