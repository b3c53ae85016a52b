/**
 * Traces of requests that were made, and the forms in which they are written.
 *
 * <p>Must not: caches and policies, which replay them.
 */
@NullMarked
package io.holdfast.loadtest.trace;

import org.jspecify.annotations.NullMarked;
