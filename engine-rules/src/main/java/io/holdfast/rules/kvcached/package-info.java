/**
 * The engine's side of kvcached: memory that a cache takes and gives back page by page, and what it does about a limit that
 * others set.
 *
 * <p>Must not: an engine's rules, the segment's bytes, HTTP, or anything of the controller that moves limits.
 */
@NullMarked
package io.holdfast.rules.kvcached;

import org.jspecify.annotations.NullMarked;
