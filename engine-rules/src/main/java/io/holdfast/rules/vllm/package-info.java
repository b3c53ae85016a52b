/**
 * vLLM's rules: its pool of blocks, the queue in which free ones wait, and when its scheduler admits and preempts.
 *
 * <p>Must not: sockets, HTTP, JSON. Time passes on the GPU alone.
 */
@NullMarked
package io.holdfast.rules.vllm;

import org.jspecify.annotations.NullMarked;
