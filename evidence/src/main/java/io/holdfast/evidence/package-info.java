/**
 * What the data of an experiment allows us to say: intervals, permutation, the crossover model, verdicts.
 *
 * <p>Pure arithmetic on numbers that somebody else measured. No clock, no I/O, no engine, no dependency.
 */
@NullMarked
package io.holdfast.evidence;

import org.jspecify.annotations.NullMarked;
