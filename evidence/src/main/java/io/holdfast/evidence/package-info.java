/**
 * Conclusions from the data of an experiment: intervals, permutation, the crossover model, verdicts.
 *
 * <p>Three layers. {@link io.holdfast.evidence.StudentT}, {@link io.holdfast.evidence.MeanInterval},
 * {@link io.holdfast.evidence.LinearFit} and {@link io.holdfast.evidence.Quantiles} are arithmetic that any loop with
 * repeated measurements can use. {@link io.holdfast.evidence.CrossoverPlan},
 * {@link io.holdfast.evidence.CrossoverData} and {@link io.holdfast.evidence.Estimate} are one design: pairs of legs in
 * three orders, from which the bias of being second cancels. {@link io.holdfast.evidence.Judge} turns an
 * {@link io.holdfast.evidence.Experiment} into a {@link io.holdfast.evidence.Verdict} by rules that were fixed before
 * the data was seen.
 *
 * <p>Pure functions of numbers that somebody else measured: no clock, no I/O, no engine, no dependency. Knowledge of
 * servers, requests or files does not belong here; neither does a number that stands for "not measured". What is
 * unknown is absent.
 */
@NullMarked
package io.holdfast.evidence;

import org.jspecify.annotations.NullMarked;
