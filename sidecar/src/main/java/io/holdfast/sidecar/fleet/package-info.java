/**
 * Process: starts and stops links, follows changes of the configuration and of discovered engines.
 */
@NullMarked
package io.holdfast.sidecar.fleet;

import org.jspecify.annotations.NullMarked;
