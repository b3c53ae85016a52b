/**
 * The block index on workload files, side by side with other indexers, and its growth to many blocks.
 *
 * <p>Lives here: the generator and the reader of workload files, the phases of a run, and what checks the answers. Must not:
 * anything that the product runs, or an index that is not measured.
 */
@NullMarked
package io.holdfast.benchmarks.index;

import org.jspecify.annotations.NullMarked;
