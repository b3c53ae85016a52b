package io.holdfast.loadtest.client;

import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.dns.AddressResolverOptions;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** A name server that says where a host is (on this machine) only when it is told to: a connect as slow as a test wants. */
final class SlowNames implements AutoCloseable {
    private static final int HEADER = 12;
    private static final int IPV4 = 1;

    private final DatagramSocket socket;
    private final CountDownLatch told = new CountDownLatch(1);

    SlowNames() throws SocketException {
        socket = new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread.ofVirtual().start(this::answer);
    }

    /** A Vert.x that asks this server for every name. */
    Vertx vertx() {
        return Vertx.vertx(new VertxOptions()
                .setAddressResolverOptions(new AddressResolverOptions()
                        .addServer("127.0.0.1:" + socket.getLocalPort())
                        .setSearchDomains(List.of())
                        .setQueryTimeout(60_000)));
    }

    void tell() {
        told.countDown();
    }

    private void answer() {
        try {
            while (true) {
                DatagramPacket packet = new DatagramPacket(new byte[512], 512);
                socket.receive(packet);
                told.await();
                byte[] answer = answerTo(packet.getData());
                socket.send(new DatagramPacket(answer, answer.length, packet.getSocketAddress()));
            }
        } catch (IOException e) {
            // The socket was closed.
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] answerTo(byte[] query) {
        int end = HEADER;
        while (query[end] != 0) {
            end += 1 + query[end];
        }
        boolean asksForAddress = query[end + 2] == IPV4;
        end += 5;
        ByteBuffer answer = ByteBuffer.allocate(512);
        answer.put(query, 0, 2).putShort((short) 0x8180).putShort((short) 1);
        answer.putShort((short) (asksForAddress ? 1 : 0)).putInt(0);
        answer.put(query, HEADER, end - HEADER);
        if (asksForAddress) {
            answer.putShort((short) 0xC00C).putShort((short) IPV4).putShort((short) 1);
            answer.putInt(60).putShort((short) 4).put(new byte[] {127, 0, 0, 1});
        }
        byte[] bytes = new byte[answer.position()];
        answer.flip().get(bytes);
        return bytes;
    }

    @Override
    public void close() {
        told.countDown();
        socket.close();
    }
}
