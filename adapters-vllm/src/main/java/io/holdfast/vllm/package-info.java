/**
 * vLLM: its readings.
 */
@NullMarked
package io.holdfast.vllm;

import org.jspecify.annotations.NullMarked;
