package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.EngineOptions;
import io.holdfast.embed.Fleet;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PrefixRouterTest {
    private static final int CAPACITY = 2048;

    /** Six system prompts are more than one engine holds and less than two do. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3})
    void session_routedByPrefix_findsFarMoreCachedThanRoundRobin(long seed) {
        Session session = new Session(6, 512, 18, 3, 40, seed);
        long routed;
        PrefixRouter[] router = new PrefixRouter[1];
        try (TwoEngines two = TwoEngines.routedByPrefix(router, kind -> kind.withCapacityTokens(CAPACITY))) {
            routed = session.cachedTokens(prompt -> {
                PrefixRouter.Target engine = router[0].choose(prompt);
                int foreseen = router[0].cachedTokens(engine, prompt);
                TwoEngines.Answer answer = two.send(engine, prompt);
                assertThat(answer.cachedTokens())
                        .as("what the router foresaw is what the engine found")
                        .isEqualTo(foreseen);
                // The last token that an engine says was never its own input, so it is not in the cache.
                int[] said = answer.said();
                two.awaitHeard(engine, Session.joined(prompt, Arrays.copyOf(said, said.length - 1)));
                return answer;
            });
        }
        long dealt;
        try (TwoEngines two = TwoEngines.routedByPrefix(router, kind -> kind.withCapacityTokens(CAPACITY))) {
            int[] requests = {0};
            dealt = session.cachedTokens(prompt -> two.send(two.engines.get(requests[0]++ % 2), prompt));
        }
        assertThat(dealt).as("round robin finds something, too").isPositive();
        assertThat(routed).isGreaterThan(dealt + dealt / 2);
    }

    @Test
    void choose_nothingKnown_takesTurns() {
        PrefixRouter router = new PrefixRouter(new Fleet(16));
        PrefixRouter.Target one = router.add(URI.create("http://one"), EngineOptions.sglang("one"));
        PrefixRouter.Target two = router.add(URI.create("http://two"), EngineOptions.vllm("two"));
        PrefixRouter.Target three = router.add(URI.create("http://three"), EngineOptions.vllm("three"));

        assertThat(Stream.generate(() -> router.choose(new int[64])).limit(5))
                .containsExactly(one, two, three, one, two);
    }

    @Test
    void choose_promptShorterThanABlock_takesTurns() {
        PrefixRouter router = new PrefixRouter(new Fleet(16));
        PrefixRouter.Target one = router.add(URI.create("http://one"), EngineOptions.sglang("one"));
        PrefixRouter.Target two = router.add(URI.create("http://two"), EngineOptions.sglang("two"));

        assertThat(List.of(router.choose(new int[0]), router.choose(new int[15])))
                .containsExactly(one, two);
    }

    @Test
    void theExamplesAreShort() throws IOException {
        assertThat(lines("PrefixRouter.java")).isLessThan(100);
        assertThat(lines("Main.java")).isLessThan(150);
        assertThat(lines("HoldingRouter.java")).isLessThan(150);
    }

    private static int lines(String file) throws IOException {
        return Files.readAllLines(Path.of("src", "main", "java", "io", "holdfast", "examples", "router", file))
                .size();
    }
}
