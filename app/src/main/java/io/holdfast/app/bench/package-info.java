/**
 * What a user measures on a machine of their own: recorded frames of real engines, from bytes to tree.
 *
 * <p>Lives here: the subcommands of {@code holdfast bench}, stop watches and statistics. Must not: an index of its own,
 * anything that the product needs at work, or what only a comparison with other indexers needs, which is in benchmarks. What
 * is measured is what ships, through its public surface.
 */
@NullMarked
package io.holdfast.app.bench;

import org.jspecify.annotations.NullMarked;
