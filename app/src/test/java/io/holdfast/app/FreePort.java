package io.holdfast.app;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A port for a server that is started later, and again and again: between two starts nobody has it. So it is none of those
 * that systems give to whoever asks for any, be it for another test's server or for a connection of its client.
 */
final class FreePort {
    private static final int LEAST = 10_000;
    /** Where Linux begins to give ports away; others begin later. */
    private static final int GIVEN_AWAY = 32_768;

    private FreePort() {}

    static int any() {
        while (true) {
            int port = ThreadLocalRandom.current().nextInt(LEAST, GIVEN_AWAY);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (BindException taken) {
                // Another one then.
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
