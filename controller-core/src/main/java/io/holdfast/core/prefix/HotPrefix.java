package io.holdfast.core.prefix;

import java.util.Optional;

/**
 * A shared or wanted prefix as other engines are told of it.
 *
 * @param lastBlock the block at its end, by the engine's own name
 * @param blocks from the root to there
 * @param touchesAnHour how often requests go over it, as it was lately
 * @param resident whether its end is in the cache
 * @param held whether it is held
 * @param tokens all of it, where they are kept; they are prompt text and leave this process only to be sent to an engine
 */
@SuppressWarnings("OptionalContainingArray")
public record HotPrefix(
        long lastBlock, int blocks, double touchesAnHour, boolean resident, boolean held, Optional<int[]> tokens) {}
