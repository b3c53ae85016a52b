/**
 * Conclusions from the legs of a run: the gates without which a measurement is about something else, and the verdict.
 *
 * <p>A pure function of what a journal holds. No clock, no engine and nothing of how the legs came about; the
 * statistics live in {@code io.holdfast.evidence}.
 */
@NullMarked
package io.holdfast.loadtest.analysis;

import org.jspecify.annotations.NullMarked;
