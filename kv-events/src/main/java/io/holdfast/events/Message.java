package io.holdfast.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** A batch as it came: its number, its bytes, and by what connection. */
final class Message {
    private static final VarHandle WORD = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long MIX = 0x9E3779B97F4A7C15L;

    /** Counts the connections to the publisher, from 1; 0 for a batch that was requested. */
    final long connection;

    final long sequence;
    /** Checksum of the publisher's identity, where it appends that to its numbers; 0 where it does not. */
    final long publisher;

    final byte[] payload;
    /** Tells batches apart that have the same number. */
    final long checksum;

    /** Number of replay requests that had been made when it came. */
    final int replayRequests;

    Message(long connection, byte[] sequenceFrame, byte[] payload, int replayRequests) {
        this.connection = connection;
        this.sequence = ByteBuffer.wrap(sequenceFrame).getLong(0);
        this.publisher = sequenceFrame.length > Long.BYTES ? checksum(sequenceFrame, Long.BYTES) | 1 : 0;
        this.payload = payload;
        this.checksum = checksum(payload, 0);
        this.replayRequests = replayRequests;
    }

    /** Returns true if both name their publishers, and the names differ. */
    boolean contradicts(long otherPublisher) {
        return publisher != 0 && otherPublisher != 0 && publisher != otherPublisher;
    }

    private static long checksum(byte[] bytes, int from) {
        long checksum = bytes.length * MIX;
        int at = from;
        for (; at + Long.BYTES <= bytes.length; at += Long.BYTES) {
            checksum = mixed(checksum ^ (long) WORD.get(bytes, at));
        }
        for (; at < bytes.length; at++) {
            checksum = mixed(checksum ^ bytes[at]);
        }
        return checksum;
    }

    private static long mixed(long value) {
        long product = value * MIX;
        return product ^ (product >>> 32);
    }
}
