/**
 * The engine's side of kvcached: memory that a cache takes and gives back page by page, and the 24 bytes in which an engine
 * and whoever moves its limit share what is allowed and what is used.
 *
 * <p>Must not: an engine's rules, HTTP, or anything of the controller that moves limits.
 */
@NullMarked
package io.holdfast.emulator.kvcached;

import org.jspecify.annotations.NullMarked;
