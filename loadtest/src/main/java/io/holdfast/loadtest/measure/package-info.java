/**
 * Results of one load, in numbers that can be compared: metrics with their units and direction, the measures of a list
 * of requests, and the files that hold these results.
 *
 * <p>Nothing here sends or judges anything: an effect with an interval is the analysis', and needs arms.
 */
@NullMarked
package io.holdfast.loadtest.measure;

import org.jspecify.annotations.NullMarked;
