package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
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

    /** Asked side by side, since each question takes as long as it takes to give up. */
    @Test
    void nothingThatIsAsked_isWaitedFor() {
        List<CompletableFuture<Throwable>> asked = Stream.<ThrowingCallable>of(
                        this::awaitReady,
                        () -> HttpEngine.family(server(), HttpSettings.defaults(), RunClock.system()),
                        () -> HttpEngine.firstModel(server(), HttpSettings.defaults(), RunClock.system()))
                .map(question -> CompletableFuture.supplyAsync(
                        () -> catchThrowable(question),
                        run -> Thread.ofVirtual().start(run)))
                .toList();
        assertThat(asked)
                .allSatisfy(answer -> assertThat(answer.join())
                        .isInstanceOf(LoadTestException.class)
                        .hasMessage(sentence()));
    }

    private void awaitReady() {
        try (EngineControl control =
                new EngineControl(server(), HttpSettings.defaults(), RunClock.system(), sentence -> {})) {
            control.awaitReady(false);
        }
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
