/**
 * What the emulator's tests share: clocks that they move themselves, a listener, recordings of real engines.
 *
 * <p>Must not: test anything.
 */
@NullMarked
package io.holdfast.emulator.testing;

import org.jspecify.annotations.NullMarked;
