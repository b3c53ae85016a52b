/**
 * Numbers from an engine, each with its source and time, or with why it is unknown.
 *
 * <p>Lives here: the readings that decisions use, and which of them cannot be true. Must not: how they are read, and
 * what is derived from several looks.
 *
 * <p>An embedder uses all of it.
 */
@NullMarked
package io.holdfast.core.reading;

import org.jspecify.annotations.NullMarked;
