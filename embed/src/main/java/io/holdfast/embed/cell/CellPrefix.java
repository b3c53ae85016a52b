package io.holdfast.embed.cell;

import java.util.List;
import java.util.OptionalInt;

/**
 * Prefix that is hot in a cell.
 *
 * @param tokens tokens from the first one of the prompt to its end; absent where only sums are read
 * @param touchesAnHour touches of all engines together
 * @param touchesHere touches of them that came to this engine
 * @param copies engines that have it, hold it or are asked for it, by their ids; of larger cells this one only
 */
public record CellPrefix(long name, OptionalInt tokens, double touchesAnHour, double touchesHere, List<Copy> copies) {
    /** What one engine says about a prefix. */
    public record Copy(String engine, double touchesAnHour, boolean resident, boolean held) {}
}
