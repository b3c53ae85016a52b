/**
 * Effect of holding on time to first token.
 *
 * <p>Lives here: the windows with holds and without, what they show, and when holds are released for it. Must not:
 * statistics, which are evidence, and how holds are released, which the plan says.
 *
 * <p>An embedder sets {@code EffectSettings}, reports {@code FirstToken} and reads {@code TtftEffect}.
 */
@NullMarked
package io.holdfast.core.effect;

import org.jspecify.annotations.NullMarked;
