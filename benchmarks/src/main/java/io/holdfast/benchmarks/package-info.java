/**
 * JMH benchmarks of the parts on the hot path: frames in, blocks indexed, prefixes matched.
 *
 * <p>Lives here: benchmarks, the seeded load that drives them, and the plain implementations that they are compared with.
 * Must not: anything that the product runs.
 */
@NullMarked
package io.holdfast.benchmarks;

import org.jspecify.annotations.NullMarked;
