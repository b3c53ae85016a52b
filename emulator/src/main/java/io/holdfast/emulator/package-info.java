/**
 * An emulated inference server that follows the engines' real cache rules.
 *
 * <p>Must not: anything of the controller; it is the other side of the wire.
 */
@NullMarked
package io.holdfast.emulator;

import org.jspecify.annotations.NullMarked;
