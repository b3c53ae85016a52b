/**
 * SGLang: its readings, requests of our own, and the backends that make it keep a prefix.
 *
 * <p>Must not: deciding what to hold and when, and the names of blocks, which the event stream's module has.
 */
@NullMarked
package io.holdfast.sglang;

import org.jspecify.annotations.NullMarked;
