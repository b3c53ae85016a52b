/**
 * Results beside each other: what changed from one file to the next and whether the repetitions show it, what was
 * expected, a table of workloads by settings, and how throughput grows with the number of devices.
 *
 * <p>Nothing here knows the order in which things were measured, so nothing here is a verdict: that is
 * {@code analysis}'s, which needs arms in both orders.
 */
@NullMarked
package io.holdfast.workbench.compare;

import org.jspecify.annotations.NullMarked;
