/**
 * The engines of this process in their cells: what they tell others by a store, whose tokens are asked for, and what others
 * ask for here. Must not: decide what is held, which engines and cells do, or know a database but by its address.
 */
@NullMarked
package io.holdfast.sidecar.cell;

import org.jspecify.annotations.NullMarked;
