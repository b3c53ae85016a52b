/**
 * A result for readers who were not there: one page with figures, the same in Markdown, legs as CSV, the verdict as a
 * test that a build server shows.
 *
 * <p>Must not: judging, which is the analysis'; files, which are the caller's; anything that a page would have to
 * fetch.
 */
@NullMarked
package io.holdfast.loadtest.report;

import org.jspecify.annotations.NullMarked;
