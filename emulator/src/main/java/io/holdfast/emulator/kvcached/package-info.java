/**
 * The 24 bytes of shared memory in which an emulated engine under kvcached and the process that moves its limit say
 * what is allowed and what is used.
 *
 * <p>Must not: decide what a limit does; the pool behind it does.
 */
@NullMarked
package io.holdfast.emulator.kvcached;

import org.jspecify.annotations.NullMarked;
