/**
 * Embedding in a router on the JVM: a fleet of engines, which of them has most of a prompt cached, and what is held
 * there.
 *
 * <p>Begin with {@link io.holdfast.embed.Fleet}. No class here makes a thread; the one that works for a fleet is the
 * embedder's. Must not: speak HTTP, or decide anything that the core decides.
 */
@NullMarked
package io.holdfast.embed;

import org.jspecify.annotations.NullMarked;
