package io.holdfast.core.plan;

import io.holdfast.core.index.TreeView;
import io.holdfast.core.plan.Ranks.Rank;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.stream.Collectors;

/** Ends of the pins of one prefix in the caches of an engine with several ranks; a pure function. */
final class RankEnds {
    /*
     * One call pins a hash in every cache that has it. So a block may be pinned only where it ended an insertion in
     * each that has it, and a prefix that was stored up to different points needs a pin for each cache that the others
     * do not reach. Each plan adds one for each hold, the next plan sees what it reached.
     *
     * A hash that is pinned already is never pinned a second time. Where it came to another cache since, and that one
     * has no other path over the prefix, it is released and pinned anew, in both.
     *
     * Parts of a prefix are not pinned here: the whole of it in one cache and a part in the other would take turns.
     */
    private final TreeView all;
    private final List<Rank> ranks;
    private final long last;
    /** Blocks that the prefix is pinned by already. */
    private final Set<Long> pinned;

    /** The end of a path over the prefix, in this rank's cache and perhaps in others. */
    record RankEnd(int rank, long block, int blocks) {}

    RankEnds(TreeView all, Ranks ranks, long last, Set<Long> pinned) {
        this.all = all;
        this.ranks = ranks.each();
        this.last = last;
        this.pinned = pinned;
    }

    /**
     * Returns the end in the first cache that has the prefix unpinned and a path over it that may be pinned; absent
     * when there is no such cache.
     */
    Optional<RankEnd> next() {
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (isThere(rank) && !isPinned(rank)) {
                Optional<RankEnd> end = over(rank);
                if (end.isPresent()) {
                    return end;
                }
            }
        }
        return Optional.empty();
    }

    /** Names the caches that have the prefix pinned, and why the others do not. */
    String said(String whyNotNext) {
        List<String> held = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            if (isPinned(rank)) {
                held.add(Integer.toString(rank));
            } else if (!isThere(rank)) {
                others.add("rank " + rank + " does not have it: it is pinned there when a request stores it");
            } else if (over(rank).isEmpty()) {
                others.add("rank " + rank + " has it, and no request that went over it ended with a block that may be"
                        + " pinned in every rank: it is pinned there with the next request that goes on from it");
            } else {
                others.add("rank " + rank + " has it: " + (whyNotNext.isEmpty() ? "its pin is next" : whyNotNext));
            }
        }
        return "held on " + held.size() + " of " + ranks.size() + " data-parallel ranks ("
                + held.stream().collect(Collectors.joining(", ")) + ")"
                + (others.isEmpty() ? "" : "; " + String.join("; ", others));
    }

    private boolean isThere(int rank) {
        return ranks.get(rank).tree().resident(last);
    }

    private boolean isPinned(int rank) {
        return pinned.stream().anyMatch(block -> ranks.get(rank).tree().pinned(block));
    }

    private Optional<RankEnd> over(int rank) {
        Optional<RankEnd> other = over(rank, block -> !pinned.contains(block));
        return other.isPresent() ? other : over(rank, pinned::contains);
    }

    private Optional<RankEnd> over(int rank, LongPredicate which) {
        Rank here = ranks.get(rank);
        if (which.test(last) && mayBePinned(last)) {
            return Optional.of(new RankEnd(rank, last, here.tree().depth(last)));
        }
        OptionalLong end = here.prefixes().shortestPathOver(last, block -> which.test(block) && mayBePinned(block));
        return end.isEmpty()
                ? Optional.empty()
                : Optional.of(new RankEnd(rank, end.getAsLong(), here.tree().depth(end.getAsLong())));
    }

    private boolean mayBePinned(long block) {
        return all.endedInsertion(block) && !all.ambiguous(block);
    }
}
