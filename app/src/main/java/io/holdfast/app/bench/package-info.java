/**
 * Figures with their command: the block index on workload files, frames from bytes to tree, growth to many blocks.
 *
 * <p>Lives here: the subcommands of {@code holdfast bench}, the reader of workload files, stop watches and statistics. Must
 * not: an index of its own, or anything that the product needs at work. What is measured is what ships, through its public
 * surface.
 */
@NullMarked
package io.holdfast.app.bench;

import org.jspecify.annotations.NullMarked;
