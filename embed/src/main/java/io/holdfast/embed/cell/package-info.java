/**
 * Knowledge that the engines of one cell share: what each says is hot, which copies there are, and who keeps the next
 * one. Soft state only: whatever a store loses is only not known any more. Must not: know a database, or put tokens,
 * texts or events into a store.
 */
@NullMarked
package io.holdfast.embed.cell;

import org.jspecify.annotations.NullMarked;
