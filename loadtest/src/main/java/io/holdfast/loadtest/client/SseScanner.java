package io.holdfast.loadtest.client;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * An incremental reader of server-sent events that works on bytes.
 *
 * <p>Buffers may end anywhere: within a line end, a field name or a UTF-8 sequence, which is why nothing is decoded
 * here. Accepts what servers really send: {@code \n}, {@code \r\n} and {@code \r} as line ends, comments, other fields,
 * {@code data:} with and without the space, data over several lines (joined by a newline), and a stream that ends
 * without the last empty line.
 */
final class SseScanner {
    /** Receiver of whole events. The bytes are only valid during the call. */
    interface Sink {
        void data(byte[] bytes, int length);

        /** The {@code [DONE]} that OpenAI-style streams end with. */
        void done();
    }

    /** An event that nobody has room for; the only way in which a stream can fail to be scanned. */
    static final class EndlessEventException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private EndlessEventException(String what) {
            super(what);
        }
    }

    private static final int MOST_EVENT_BYTES = 16 << 20;
    private static final byte[] DATA = "data".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] DONE = "[DONE]".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] BYTE_ORDER_MARK = {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF};

    private final Sink sink;
    private byte[] line = new byte[512];
    private int lineLength;
    private byte[] event = new byte[512];
    private int eventLength;
    private boolean hasData;
    private boolean afterCarriageReturn;
    private boolean firstLine = true;

    SseScanner(Sink sink) {
        this.sink = sink;
    }

    void feed(byte[] bytes) {
        for (byte next : bytes) {
            if (next == '\n' && afterCarriageReturn) {
                afterCarriageReturn = false;
                continue;
            }
            afterCarriageReturn = next == '\r';
            if (next == '\n' || next == '\r') {
                endLine();
            } else {
                line = withRoom(line, lineLength + 1);
                line[lineLength++] = next;
            }
        }
    }

    /** The stream is over: what was begun is taken as whole. */
    void end() {
        if (lineLength > 0) {
            endLine();
        }
        endEvent();
    }

    private void endLine() {
        int from = 0;
        if (firstLine) {
            firstLine = false;
            from = lineLength >= 3 && Arrays.equals(line, 0, 3, BYTE_ORDER_MARK, 0, 3) ? 3 : 0;
        }
        if (lineLength == from) {
            endEvent();
        } else if (isData(from)) {
            appendData(from + DATA.length);
        }
        lineLength = 0;
    }

    private boolean isData(int from) {
        int end = from + DATA.length;
        return lineLength >= end
                && Arrays.equals(line, from, end, DATA, 0, DATA.length)
                && (lineLength == end || line[end] == ':');
    }

    private void appendData(int afterName) {
        int from = Math.min(afterName + 1, lineLength);
        if (from < lineLength && line[from] == ' ') {
            from++;
        }
        int length = lineLength - from;
        event = withRoom(event, eventLength + length + 1);
        if (hasData) {
            event[eventLength++] = '\n';
        }
        System.arraycopy(line, from, event, eventLength, length);
        eventLength += length;
        hasData = true;
    }

    private void endEvent() {
        if (!hasData) {
            return;
        }
        int length = eventLength;
        hasData = false;
        eventLength = 0;
        if (Arrays.equals(event, 0, length, DONE, 0, DONE.length)) {
            sink.done();
        } else {
            sink.data(event, length);
        }
    }

    private static byte[] withRoom(byte[] bytes, int needed) {
        if (needed <= bytes.length) {
            return bytes;
        }
        if (needed > MOST_EVENT_BYTES) {
            throw new EndlessEventException("an event of the stream is longer than " + MOST_EVENT_BYTES + " bytes");
        }
        return Arrays.copyOf(bytes, Math.max(needed, 2 * bytes.length));
    }
}
