package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.holdfast.embed.Fleet;
import io.holdfast.events.Subscription;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MainTest {
    private static final String URL = "http://127.0.0.1:30000";
    private static final String EVENTS = "tcp://127.0.0.1:5557";

    @ParameterizedTest
    @ValueSource(strings = {"", "16", "0 sglang a b", "sixteen sglang a b", "16 sglang a", "16 sglang a b vllm c"})
    void arguments_notOfTheRightNumberOrKind_areToldHowToBe(String line) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> arguments(line))
                .withMessage("Give --views DIRECTORY or nothing, the tokens of a block, then of each engine: sglang or"
                        + " vllm, its URL, its events endpoint, which a comma and its replay endpoint may follow.");
    }

    @ParameterizedTest
    @CsvSource({
        "SGLang, http://127.0.0.1:30000",
        "vllm, 127.0.0.1:30000",
        "vllm, http://",
        "vllm, http://127.0.0.1:30000/v1"
    })
    void engine_ofAnotherKindOrUrl_isNamed(String kind, String url) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> arguments("16 " + kind + " " + url + " " + EVENTS))
                .withMessage("An engine is sglang or vllm at http://host:port, not " + kind + " at " + url + ".");
    }

    @Test
    void engine_withoutAnEventsEndpoint_isNamed() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> arguments("16 sglang " + URL + " " + URL))
                .withMessageStartingWith("The events endpoint \"" + URL + "\" is not of the form tcp://host:port");
    }

    @Test
    void arguments_ofTwoEngines_makeARouterOfTwo() {
        PrefixRouter router =
                arguments("16 sglang " + URL + " " + EVENTS + " vllm https://[::1]:8000 tcp://127.0.0.1:5558");

        assertThat(router.choose(new int[16]).url()).isEqualTo(URI.create(URL));
        assertThat(router.choose(new int[16]).url()).isEqualTo(URI.create("https://[::1]:8000"));
    }

    @Test
    void engine_withAReplayEndpoint_isAskedForItsPast() {
        PrefixRouter router = arguments("16 sglang " + URL + " " + EVENTS + ",tcp://127.0.0.1:5558");

        try (Fleet fleet = router.fleet()) {
            fleet.doWork();
            assertThat(fleet.engines().getFirst().subscriptions())
                    .extracting(Subscription::replayEndpoint)
                    .containsExactly(Optional.of("tcp://127.0.0.1:5558"));
        }
    }

    @Test
    void prompt_ofTokenIds_isRead() {
        assertThat(Main.tokens(" 1 22\t333 ")).containsExactly(1, 22, 333);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1 two 3", "1,2", "99999999999"})
    void prompt_ofAnythingElse_isRefused(String line) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Main.tokens(line))
                .withMessage("A prompt is token ids with blanks between, not \"" + line + "\".");
    }

    @Test
    void engine_thatIsAway_isNamed() throws IOException {
        URI away;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            away = URI.create("http://127.0.0.1:" + socket.getLocalPort());
        }
        try (HttpClient http = HttpClient.newHttpClient()) {
            assertThatIOException()
                    .isThrownBy(() -> Main.forward(http, away, new int[] {1}))
                    .withMessage("The engine " + away + " does not answer: is it running?");
        }
    }

    private static PrefixRouter arguments(String line) {
        return Main.router(Optional.empty(), line.split(" ", -1));
    }
}
