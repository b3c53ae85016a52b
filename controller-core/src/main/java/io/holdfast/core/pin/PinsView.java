package io.holdfast.core.pin;

import java.util.Optional;

/**
 * Numbers of pins that the engine has, or may have, for us, by how sure that is.
 *
 * @param pinned the engine said yes, and somebody needs them
 * @param leftovers of an earlier life of this process, and not yet answered for
 * @param unsure whose unpin had no clear answer
 * @param kept whose unpin could hurt the engine, so that it is not asked
 * @param refused whose unpin the engine refuses
 * @param abandoned entries of the ledger whose backend is not in use
 * @param unreleasableBlocks blocks that nobody needs any more, protected by what cannot be taken back
 * @param runningOut of these pins, how many end automatically in a known time
 * @param trouble why the ledger's entries are not released, where a person has to look
 */
public record PinsView(
        int pinned,
        int leftovers,
        int unsure,
        int kept,
        int refused,
        int abandoned,
        long unreleasableBlocks,
        int runningOut,
        Optional<String> trouble) {
    /** Creates a view where everything can be taken back. */
    public PinsView(
            int pinned, int leftovers, int unsure, int kept, int refused, int abandoned, Optional<String> trouble) {
        this(pinned, leftovers, unsure, kept, refused, abandoned, 0, 0, trouble);
    }
}
