/**
 * LMCache: pins at its coordinator, which keep copies in the storage behind engines of any family.
 */
@NullMarked
package io.holdfast.lmcache;

import org.jspecify.annotations.NullMarked;
