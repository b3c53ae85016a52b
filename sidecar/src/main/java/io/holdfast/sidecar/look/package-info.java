/**
 * Looks at an engine without steering it: {@code doctor} and {@code observe}.
 */
@NullMarked
package io.holdfast.sidecar.look;

import org.jspecify.annotations.NullMarked;
