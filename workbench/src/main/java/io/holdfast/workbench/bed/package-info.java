/**
 * What a load test stands on: the machine, its GPUs and shared memory, the server's process; what is sampled beside legs, and
 * what profilers exported.
 *
 * <p>Must not: judging, which is the analysis'; changing anything of what it looks at. Shared memory is read and listed, and no
 * segment is ever created or deleted.
 */
@NullMarked
package io.holdfast.workbench.bed;

import org.jspecify.annotations.NullMarked;
