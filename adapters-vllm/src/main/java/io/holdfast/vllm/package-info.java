/**
 * vLLM: its readings, whether it caches prefixes, requests of our own, and what it makes of a prompt. TensorRT-LLM, which
 * answers the same requests: what differs.
 *
 * <p>Must not: deciding what to hold and when, and the names of blocks, which the event stream's module has.
 */
@NullMarked
package io.holdfast.vllm;

import org.jspecify.annotations.NullMarked;
