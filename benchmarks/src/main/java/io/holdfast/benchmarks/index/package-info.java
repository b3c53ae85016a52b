/**
 * The block index on workload files, side by side with other indexers, its growth to many blocks, and recorded frames of real
 * engines from bytes to tree.
 *
 * <p>Lives here: the generator and the reader of workload files, the recordings, the phases of a run, stop watches, and what
 * checks the answers. Must not: anything that the product runs, or an index that is not measured.
 */
@NullMarked
package io.holdfast.benchmarks.index;

import org.jspecify.annotations.NullMarked;
