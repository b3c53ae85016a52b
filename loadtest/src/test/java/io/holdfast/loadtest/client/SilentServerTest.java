package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Something listens at the address and never says a word. */
@Timeout(30)
final class SilentServerTest {
    private final ServerSocket listener = listen();

    @AfterEach
    void stop() throws IOException {
        listener.close();
    }

    @Test
    void serverThatIsThere_isNotWaitedFor() {
        try (EngineControl control =
                new EngineControl(server(), HttpSettings.defaults(), RunClock.system(), sentence -> {})) {
            assertThatThrownBy(() -> control.awaitReady(false))
                    .isInstanceOf(LoadTestException.class)
                    .hasMessage(sentence());
        }
    }

    @Test
    void firstQuestions_areNotWaitedFor() {
        assertThatThrownBy(() -> HttpEngine.family(server(), HttpSettings.defaults(), RunClock.system()))
                .hasMessage(sentence());
        assertThatThrownBy(() -> HttpEngine.firstModel(server(), HttpSettings.defaults(), RunClock.system()))
                .hasMessage(sentence());
    }

    private String sentence() {
        return "The engine at " + server()
                + " is not ready: it does not answer; check that it runs and that the address is right.";
    }

    private URI server() {
        return URI.create("http://127.0.0.1:" + listener.getLocalPort());
    }

    private static ServerSocket listen() {
        try {
            return new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
