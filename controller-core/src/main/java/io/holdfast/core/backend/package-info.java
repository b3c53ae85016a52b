/**
 * The door for a way to make an engine keep a prefix.
 *
 * <p>Lives here: what a backend is asked, what it says of itself and what it answers; the dry run. Must not: when it is
 * asked, what is remembered of its answers, a backend of a real engine.
 *
 * <p>An embedder uses all of it; a new backend implements {@code Backend}.
 */
@NullMarked
package io.holdfast.core.backend;

import org.jspecify.annotations.NullMarked;
