/**
 * One load test at one server: what a plan asks for is opened, previewed, run and gone on with.
 *
 * <p>The topmost room: it alone sees plans, arms and engines behind HTTP together.
 */
@NullMarked
package io.holdfast.loadtest.session;

import org.jspecify.annotations.NullMarked;
