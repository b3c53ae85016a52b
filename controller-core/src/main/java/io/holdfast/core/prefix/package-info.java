/**
 * Prefixes that requests share, at whose ends their ways part: how hot they are, how often they were lost, and which
 * living paths cover them. It learns from one engine's events.
 *
 * <p>Must not: deciding what is held. An embedder reads {@link
 * io.holdfast.core.prefix.SharedPrefix} in the engine's view.
 */
@NullMarked
package io.holdfast.core.prefix;

import org.jspecify.annotations.NullMarked;
