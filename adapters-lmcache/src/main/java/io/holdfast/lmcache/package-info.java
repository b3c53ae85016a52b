/**
 * LMCache: pins at its coordinator, which keep copies in the storage behind engines of any family.
 *
 * <p>Must not: what is in an engine's own cache.
 */
@NullMarked
package io.holdfast.lmcache;

import org.jspecify.annotations.NullMarked;
