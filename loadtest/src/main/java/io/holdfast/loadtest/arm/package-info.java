/**
 * The load test's own arms: what a pinned leg does and a baseline leg does not, without a sidecar.
 *
 * <p>They know an engine by its port alone, so each runs in virtual time as well as against a server. Nothing is
 * measured or judged here.
 */
@NullMarked
package io.holdfast.loadtest.arm;

import org.jspecify.annotations.NullMarked;
