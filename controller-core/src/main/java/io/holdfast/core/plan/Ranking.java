package io.holdfast.core.plan;

import io.holdfast.core.rank.Evidence;
import io.holdfast.core.rank.RankedPrefix;
import java.util.List;
import java.util.Optional;

/**
 * Prefixes to be held by their rank.
 *
 * @param chosen the best first; none while that is not licensed
 * @param whyNone why nothing may be held by its rank now, whatever the shadows say; empty where it may
 * @param evidence what the shadows say
 * @param mayBegin how many more may be held with this plan
 */
public record Ranking(List<RankedPrefix> chosen, Optional<String> whyNone, Evidence evidence, int mayBegin) {
    /** Ranking where nothing is held by its rank. */
    public static final Ranking NONE =
            new Ranking(List.of(), Optional.of("nothing is held by its rank"), Evidence.NONE, 0);

    public Ranking {
        chosen = List.copyOf(chosen);
    }

    Optional<RankedPrefix> find(long lastBlock) {
        return chosen.stream().filter(prefix -> prefix.lastBlock() == lastBlock).findFirst();
    }

    /** Returns the reason why a prefix that was held by its rank is not any more. */
    Why whyNot() {
        if (whyNone.isPresent()) {
            return new Why(Reason.NOT_LICENSED, whyNone.get());
        }
        return evidence.open()
                ? new Why(
                        Reason.OUTRANKED,
                        "other prefixes are likelier to be used again, or it was used again and is longer now")
                : new Why(Reason.NOT_LICENSED, "nothing is held by its rank now: " + evidence.said());
    }
}
