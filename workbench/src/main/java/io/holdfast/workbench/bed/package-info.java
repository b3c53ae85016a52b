/**
 * Ground of a load test: the machine, its GPUs and shared memory, the server's process, samples beside legs, and
 * exports of profilers.
 *
 * <p>Must not: judging, which is the analysis'; changing anything of what it looks at. Shared memory is read and
 * listed, and no segment is ever created or deleted.
 */
@NullMarked
package io.holdfast.workbench.bed;

import org.jspecify.annotations.NullMarked;
