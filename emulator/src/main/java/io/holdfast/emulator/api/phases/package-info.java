/**
 * HTTP of the server that can be any of seven phases of an optimisation log; bodies and errors are SGLang's.
 *
 * <p>Must not: decide anything about the cache; what touches it is asked of the engine's thread.
 */
@NullMarked
package io.holdfast.emulator.api.phases;

import org.jspecify.annotations.NullMarked;
