/**
 * Prefixes noted while somebody sends what is to be held: an example says what no one can write down.
 *
 * <p>Must not: hold anything, or know who asks.
 */
@NullMarked
package io.holdfast.core.example;

import org.jspecify.annotations.NullMarked;
