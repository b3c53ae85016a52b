/**
 * Engines and the sidecar behind HTTP: the client whose stamps are measured, and plain blocking calls for all else.
 *
 * <p>The ports of {@code run} are implemented here. Nothing decides here what a leg does or what its numbers mean.
 */
@NullMarked
package io.holdfast.loadtest.client;

import org.jspecify.annotations.NullMarked;
