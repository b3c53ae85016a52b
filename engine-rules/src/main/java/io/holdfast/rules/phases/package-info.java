/**
 * A small server that can be any of seven: the six stages of a published optimisation log, and one that restores caches.
 *
 * <p>Must not: the rules of SGLang or vLLM, which have rooms of their own, and HTTP.
 */
@NullMarked
package io.holdfast.rules.phases;

import org.jspecify.annotations.NullMarked;
