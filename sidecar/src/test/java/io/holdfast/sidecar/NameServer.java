package io.holdfast.sidecar;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A name server that answers every question with what it is told to, or not at all. */
final class NameServer implements AutoCloseable {
    private static final int SRV = 33;
    private static final int A = 1;
    private static final int SERVER_FAILURE = 2;
    private static final int NO_SUCH_NAME = 3;

    private final DatagramSocket socket;
    private volatile List<InetSocketAddress> places = List.of();
    private volatile boolean broken;

    NameServer() throws IOException {
        socket = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofPlatform().daemon().name("test-name-server").start(this::serve);
    }

    String address() {
        return "127.0.0.1:" + socket.getLocalPort();
    }

    void gives(InetSocketAddress... those) {
        places = List.of(those);
    }

    void breaks(boolean now) {
        broken = now;
    }

    private void serve() {
        byte[] buffer = new byte[512];
        while (!socket.isClosed()) {
            DatagramPacket question = new DatagramPacket(buffer, buffer.length);
            try {
                socket.receive(question);
                byte[] answer = answer(ByteBuffer.wrap(buffer, 0, question.getLength()));
                socket.send(new DatagramPacket(answer, answer.length, question.getSocketAddress()));
            } catch (IOException e) {
                if (!socket.isClosed()) {
                    throw new UncheckedIOException(e);
                }
            }
        }
    }

    private byte[] answer(ByteBuffer question) throws IOException {
        short id = question.getShort();
        question.position(12);
        int begin = question.position();
        while (question.get() != 0) {
            question.position(question.position() - 1);
            question.position(question.position() + 1 + question.get(question.position()));
        }
        int type = question.getShort();
        int end = question.position() + 2;
        List<InetSocketAddress> told = broken || (type != SRV && type != A) ? List.of() : places;
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(id);
        out.writeShort(0x8180 | (broken ? SERVER_FAILURE : places.isEmpty() ? NO_SUCH_NAME : 0));
        out.writeShort(1);
        out.writeShort(told.size());
        out.writeInt(0);
        byte[] asked = new byte[end - begin];
        question.get(begin, asked);
        out.write(asked);
        for (InetSocketAddress place : told) {
            out.writeShort(0xc00c);
            out.writeShort(type);
            out.writeShort(1);
            out.writeInt(1);
            if (type == A) {
                out.writeShort(4);
                out.write(place.getAddress().getAddress());
            } else {
                byte[] label = place.getHostString().getBytes(StandardCharsets.US_ASCII);
                out.writeShort(6 + label.length + 2);
                out.writeShort(0);
                out.writeShort(0);
                out.writeShort(place.getPort());
                out.writeByte(label.length);
                out.write(label);
                out.writeByte(0);
            }
        }
        return bytes.toByteArray();
    }

    @Override
    public void close() {
        socket.close();
    }
}
