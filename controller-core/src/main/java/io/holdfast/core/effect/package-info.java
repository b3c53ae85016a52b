/**
 * What holding does to time to first token.
 *
 * <p>Lives here: the alternating windows and what they show. Must not: statistics, which are evidence, and acting on the
 * result.
 *
 * <p>An embedder reads {@code TtftEffect}.
 */
@NullMarked
package io.holdfast.core.effect;

import org.jspecify.annotations.NullMarked;
