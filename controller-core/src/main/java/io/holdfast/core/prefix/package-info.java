/**
 * What requests share: the prefixes at whose ends their ways part, how hot they are, how often they were lost, and which
 * living paths cover them. It learns from one engine's events and decides nothing; an embedder reads {@link
 * io.holdfast.core.prefix.SharedPrefix} in the engine's view.
 */
@NullMarked
package io.holdfast.core.prefix;

import org.jspecify.annotations.NullMarked;
