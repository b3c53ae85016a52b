/**
 * The load test that validates decisions with controls; here is only what its packages share.
 *
 * <p>Each package sees those before it: {@code workload}, {@code journal}, {@code analysis}, {@code run}, {@code
 * client}. What the measured legs allow us to say is decided in {@code io.holdfast.evidence}; the command line that
 * starts a run lives elsewhere.
 */
@NullMarked
package io.holdfast.loadtest;

import org.jspecify.annotations.NullMarked;
