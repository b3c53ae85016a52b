/**
 * Several load tests at levels of one parameter: their plan and its file, and what they say together.
 *
 * <p>Each level is a whole run with a journal of its own, judged by {@code analysis}; nothing is pooled here, and
 * nothing is sent.
 */
@NullMarked
package io.holdfast.loadtest.sweep;

import org.jspecify.annotations.NullMarked;
