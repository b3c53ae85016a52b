/**
 * SGLang: its readings and the backends that make it keep a prefix.
 */
@NullMarked
package io.holdfast.sglang;

import org.jspecify.annotations.NullMarked;
