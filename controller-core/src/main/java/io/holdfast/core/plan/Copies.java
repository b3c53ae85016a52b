package io.holdfast.core.plan;

import java.util.Map;

/**
 * Copies of this engine's prefixes that other engines have, as far as they change what a hold is worth here.
 *
 * @param worthHere for a prefix, by its last block here, the part from 0 to 1 of what a hold saves that no other engine
 *     would; 1 where it is not named
 */
public record Copies(Map<Long, Double> worthHere) {
    /** No other engine is known. */
    public static final Copies NONE = new Copies(Map.of());

    /** Part below which a hold here is given up to the other copies. */
    private static final double LEAST = 0.25;
    /** Factor by which less is enough for a hold that exists, or two engines would pass a copy to and fro. */
    private static final double STAYS = 1.5;

    public Copies {
        worthHere = Map.copyOf(worthHere);
        if (worthHere.values().stream().anyMatch(part -> !(part >= 0 && part <= 1))) {
            throw new IllegalArgumentException("What is left of a hold's worth is a part between 0 and 1.");
        }
    }

    /** Returns the part of a hold's worth that no other engine has. */
    double worth(long lastBlock) {
        return worthHere.getOrDefault(lastBlock, 1.0);
    }

    boolean areEnough(long lastBlock, boolean held) {
        return worth(lastBlock) < LEAST / (held ? STAYS : 1);
    }

    String said(long lastBlock) {
        return "another engine of the fleet has it, and " + Math.round(100 * (1 - worth(lastBlock)))
                + " % of its touches go where it is cached: a second copy would serve the rest alone";
    }
}
