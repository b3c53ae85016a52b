/**
 * Commands without a verdict of their own: presets, suites, comparisons, imports, reviews, the test bed, replays.
 */
@NullMarked
package io.holdfast.app.workbench;

import org.jspecify.annotations.NullMarked;
