/**
 * What the emulator's tests share: a clock that they open, servers without event sockets, HTTP by hand, a neighbour's view
 * of a memory segment.
 *
 * <p>Must not: test anything.
 */
@NullMarked
package io.holdfast.emulator.testing;

import org.jspecify.annotations.NullMarked;
