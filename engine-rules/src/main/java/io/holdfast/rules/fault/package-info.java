/**
 * Faults that real servers show to benchmarks and to controllers, by name, for an emulated server to play on request.
 *
 * <p>Must not: act. A fault is data; the room where it shows does it.
 */
@NullMarked
package io.holdfast.rules.fault;

import org.jspecify.annotations.NullMarked;
