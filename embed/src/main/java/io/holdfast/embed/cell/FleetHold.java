package io.holdfast.embed.cell;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import java.time.Duration;
import java.util.HexFormat;

/**
 * A wish that engines of a cell keep one prefix. It has lengths of time only: clocks of two machines may differ.
 *
 * @param id 16 hexadecimal digits
 * @param name name of its last whole block by {@link io.holdfast.core.hash.ContentNames}
 * @param blocks whole blocks
 * @param tokens tokens of these
 * @param copies how many engines should keep it; {@link #ALL} for each of the cell
 * @param requester who asks, of at most 100 characters; empty for somebody without a name
 * @param weight 1 to {@link HoldRequest#MOST_WEIGHT}, as for the hold of one engine
 * @param leaseMillis how much of its lease is left at the time of writing
 * @param address where the sidecar that took it is reached, which has its tokens; empty where nobody may ask it
 * @param released whether it is over: such a one wins over any other of its id
 */
public record FleetHold(
        String id,
        long name,
        int blocks,
        int tokens,
        int copies,
        String requester,
        int weight,
        long leaseMillis,
        String address,
        boolean released) {
    /** As many copies as there are engines. */
    public static final int ALL = Integer.MAX_VALUE;

    static final String KIND = "hold";

    private static final char LETTER = 'H';
    private static final int LONGEST_REQUESTER = 100;
    private static final String RELEASED = ":released";

    /** @throws IllegalArgumentException with one sentence, where it is beyond its bounds */
    public FleetHold {
        Form.checkHold(id);
        Form.check(name != 0, "Zero is no block's name.");
        HotEnd.checkTokens(tokens);
        Form.check(blocks >= 1 && blocks <= tokens, "A hold has at least one whole block, and no more than tokens.");
        Form.check(copies >= 1, "A hold of a fleet has at least one copy, not " + copies + ".");
        Form.checkText(requester, LONGEST_REQUESTER, "A requester's name");
        Form.check(
                weight >= 1 && weight <= HoldRequest.MOST_WEIGHT,
                "The weight of a hold is 1 to " + HoldRequest.MOST_WEIGHT + ", not " + weight + ".");
        Form.check(
                leaseMillis >= 0 && leaseMillis <= Lease.LONGEST.toMillis(),
                "A lease is at most " + Lease.LONGEST.toDays() + " days.");
        Form.checkAddress(address);
    }

    /** Wishes for one, under an id from a random number. */
    public static FleetHold of(
            long random,
            long name,
            int blocks,
            int tokens,
            int copies,
            String requester,
            int weight,
            Duration lease,
            String address) {
        return new FleetHold(
                HexFormat.of().toHexDigits(random),
                name,
                blocks,
                tokens,
                copies,
                requester,
                weight,
                lease.toMillis(),
                address,
                false);
    }

    /** Returns this hold with so much left of its lease. */
    FleetHold withLease(long millis) {
        return new FleetHold(id, name, blocks, tokens, copies, requester, weight, millis, address, released);
    }

    /** Returns the sign that this hold is over. */
    FleetHold asReleased() {
        return new FleetHold(id, name, blocks, tokens, copies, requester, weight, leaseMillis, address, true);
    }

    /**
     * Name of its key. The sign that it is over has one of its own, so that nobody who puts the hold again takes its
     * place.
     */
    String keyName() {
        return released ? id + RELEASED : id;
    }

    /** Writes it down for a cell. */
    public byte[] bytes(String cell) {
        return Form.write(LETTER, cell)
                .putText(id)
                .put64(name)
                .put32(blocks)
                .put32(tokens)
                .put32(copies)
                .putText(requester)
                .put8(weight)
                .put64(leaseMillis)
                .putText(address)
                .put8(released ? 1 : 0)
                .done();
    }

    /** Reads one of a cell; whatever the bytes are, it is one within its bounds or refused. */
    public static Parsed<FleetHold> parse(String cell, byte[] bytes) {
        return Form.read(
                LETTER,
                cell,
                bytes,
                form -> new FleetHold(
                        form.getText(),
                        form.get64(),
                        form.get32(),
                        form.get32(),
                        form.get32(),
                        form.getText(),
                        form.get8(),
                        form.get64(),
                        form.getText(),
                        form.getFlag()));
    }
}
