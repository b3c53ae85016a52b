package io.holdfast.rules.engine;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Report of the connector on one order; NIXL counts no holds.
 *
 * @param held distinct blocks that all holds refer to
 * @param most blocks that they may refer to
 * @param total blocks of the cache
 * @param gaveWay holds given up since the start so that the engine could schedule
 */
public record HoldReport(Result result, int held, int most, int total, long gaveWay) {
    /** Result of the order itself. */
    public sealed interface Result {
        /**
         * A hold was made or renewed.
         *
         * @param blocks under its name
         * @param ttlSeconds granted
         */
        record Held(int blocks, long ttlSeconds) implements Result {}

        /**
         * Nothing was held.
         *
         * @param why in the protocol's word: {@code share} where all holds together would refer to too many blocks,
         *     {@code request} for a prompt without a full block
         */
        record Refused(String why) implements Result {}

        /** So many holds were there, and are no more. */
        record Released(int holds) implements Result {}

        /**
         * Blocks are leased.
         *
         * @param blocks their numbers in the pool
         * @param tokens that they have
         */
        record Leased(List<Integer> blocks, int tokens) implements Result {
            public Leased {
                blocks = List.copyOf(blocks);
            }
        }

        /** All holds by name, the first to give way first. */
        record Listed(Map<String, Left> holds) implements Result {
            public Listed {
                holds = Collections.unmodifiableMap(new LinkedHashMap<>(holds));
            }
        }
    }

    /** A hold: its blocks, and the seconds that it has left. */
    public record Left(int blocks, double seconds) {}
}
