/**
 * Findings of a look at an engine, or at the machine beside it, and what mends each.
 *
 * <p>Must not: how anything is looked at.
 *
 * <p>An embedder that looks at nothing leaves it alone.
 */
@NullMarked
package io.holdfast.core.look;

import org.jspecify.annotations.NullMarked;
