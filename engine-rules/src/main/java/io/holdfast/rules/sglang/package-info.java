/**
 * SGLang's rules: its radix tree of blocks, what it evicts, and when its scheduler admits, retracts and publishes.
 *
 * <p>Must not: sockets, HTTP, JSON. Time passes on the GPU alone.
 */
@NullMarked
package io.holdfast.rules.sglang;

import org.jspecify.annotations.NullMarked;
