package io.holdfast.core.hold;

import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Outcome of a release on behalf of somebody who is finished: what the engine may evict again, and what stays.
 *
 * @param ended holds that it ended, as they are now
 * @param evictableTokens tokens that nothing keeps any more because of it
 * @param runsOutTokens tokens that no call takes back and that are kept until their time runs out
 * @param runsOutWithin when the last of those runs out at the latest
 * @param stayingTokens tokens that no call takes back and that no time ends: the engine keeps them until it evicts them,
 *     clears its cache or restarts
 * @param pendingTokens tokens whose unpin has no clear answer yet, or was refused; it is repeated
 * @param sharedTokens tokens of the ended holds that stay, since other holds keep them
 * @param wanted holds that were asked about and stay, since others want them
 */
public record GivenBack(
        List<HoldView> ended,
        long evictableTokens,
        long runsOutTokens,
        Duration runsOutWithin,
        long stayingTokens,
        long pendingTokens,
        long sharedTokens,
        List<HoldView> wanted) {
    public GivenBack {
        ended = List.copyOf(ended);
        wanted = List.copyOf(wanted);
    }

    /** Returns this with more holds that it ended, of which nothing was kept. */
    public GivenBack andEnded(List<HoldView> more) {
        return new GivenBack(
                Stream.concat(ended.stream(), more.stream()).toList(),
                evictableTokens,
                runsOutTokens,
                runsOutWithin,
                stayingTokens,
                pendingTokens,
                sharedTokens,
                wanted);
    }

    /** Returns the holds that it was about: those that ended, and those that stay. */
    public List<HoldView> concerned() {
        return Stream.concat(ended.stream(), wanted.stream()).toList();
    }
}
