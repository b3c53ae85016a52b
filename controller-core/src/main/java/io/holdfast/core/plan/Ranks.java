package io.holdfast.core.plan;

import io.holdfast.core.index.TreeView;
import io.holdfast.core.prefix.PrefixView;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The caches of an engine with several data-parallel ranks.
 *
 * @param each by rank; empty for an engine with one cache
 * @param ends the last blocks of the paths that are pinned for each hold
 */
public record Ranks(List<Rank> each, Map<Long, Set<Long>> ends) {
    /** An engine with one cache. */
    public static final Ranks ONE = new Ranks(List.of(), Map.of());

    public Ranks {
        each = List.copyOf(each);
        ends = Map.copyOf(ends);
    }

    /** Blocks of one rank's cache, and the prefixes shared there. */
    public record Rank(TreeView tree, PrefixView prefixes) {}

    boolean several() {
        return !each.isEmpty();
    }
}
