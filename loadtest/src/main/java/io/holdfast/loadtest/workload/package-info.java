/**
 * Requests of a load test in the phases of a leg, fixed before the first of them is sent.
 *
 * <p>No clock, no engine, no answer: the same seed and sizes give the same requests to the last token.
 */
@NullMarked
package io.holdfast.loadtest.workload;

import org.jspecify.annotations.NullMarked;
