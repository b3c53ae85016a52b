/**
 * Client of the sidecar's own HTTP API, for commands that ask a running sidecar.
 */
@NullMarked
package io.holdfast.sidecar.client;

import org.jspecify.annotations.NullMarked;
