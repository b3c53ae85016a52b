package io.holdfast.emulator.wire;

import io.holdfast.events.KvEventEncoder.Dialect;
import java.util.OptionalInt;

/**
 * Settings by which a server publishes what its cache does.
 *
 * @param host the address that it listens on
 * @param port of the events of rank 0, 0 for a free one; each further rank has the next port
 * @param replayPort where past batches of rank 0 are requested, 0 for a free one; without it nowhere
 * @param topic stands before each batch
 * @param bufferSteps how many past batches can be requested
 * @param dialect the form of the batches, and of the answers about past ones
 */
public record EventSettings(
        String host, int port, OptionalInt replayPort, String topic, int bufferSteps, Dialect dialect) {
    /** Steps that real engines keep by default. */
    public static final int BUFFER_STEPS = 10_000;

    public EventSettings {
        if (bufferSteps < 1) {
            throw new IllegalArgumentException(
                    "The number of past batches that can be asked for must be at least 1, not " + bufferSteps + ".");
        }
    }

    /** For this machine alone, without replay or topic. */
    public static EventSettings of(int port, Dialect dialect) {
        return new EventSettings("127.0.0.1", port, OptionalInt.empty(), "", BUFFER_STEPS, dialect);
    }

    public EventSettings withHost(String value) {
        return new EventSettings(value, port, replayPort, topic, bufferSteps, dialect);
    }

    public EventSettings withPort(int value) {
        return new EventSettings(host, value, replayPort, topic, bufferSteps, dialect);
    }

    public EventSettings withReplay(OptionalInt value) {
        return new EventSettings(host, port, value, topic, bufferSteps, dialect);
    }

    public EventSettings withTopic(String value) {
        return new EventSettings(host, port, replayPort, value, bufferSteps, dialect);
    }

    public EventSettings withBufferSteps(int value) {
        return new EventSettings(host, port, replayPort, topic, value, dialect);
    }

    /** Returns these settings at the ports of a rank; a free port is any. */
    EventSettings ofRank(int rank) {
        return withPort(above(port, rank))
                .withReplay(replayPort.isPresent() ? OptionalInt.of(above(replayPort.getAsInt(), rank)) : replayPort);
    }

    private static int above(int port, int rank) {
        return port == 0 ? 0 : port + rank;
    }
}
