/**
 * JMH benchmarks of the parts on the hot path.
 */
@NullMarked
package io.holdfast.benchmarks;

import org.jspecify.annotations.NullMarked;
