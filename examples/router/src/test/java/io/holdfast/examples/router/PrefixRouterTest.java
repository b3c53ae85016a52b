package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.CacheTraits;
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
        try (Fleet fleet = new Fleet(CAPACITY)) {
            routed = session.cachedTokens(prompt -> {
                PrefixRouter.Engine engine = fleet.router.choose(prompt);
                int foreseen = fleet.router.cachedTokens(engine, prompt);
                Fleet.Answer answer = fleet.send(engine, prompt);
                assertThat(answer.cachedTokens())
                        .as("what the router foresaw is what the engine found")
                        .isEqualTo(foreseen);
                // The last token that an engine says was never its own input, so it is not in the cache.
                int[] said = answer.said();
                fleet.awaitHeard(engine, Session.joined(prompt, Arrays.copyOf(said, said.length - 1)));
                return answer;
            });
        }
        long dealt;
        try (Fleet fleet = new Fleet(CAPACITY)) {
            int[] requests = {0};
            dealt = session.cachedTokens(prompt -> fleet.send(fleet.engines.get(requests[0]++ % 2), prompt));
        }
        assertThat(dealt).as("round robin finds something, too").isPositive();
        assertThat(routed).isGreaterThan(dealt + dealt / 2);
    }

    @Test
    void choose_nothingKnown_takesTurns() {
        PrefixRouter router = new PrefixRouter(16);
        PrefixRouter.Engine one = router.add(URI.create("http://one"), CacheTraits.sglang());
        PrefixRouter.Engine two = router.add(URI.create("http://two"), CacheTraits.vllm());
        PrefixRouter.Engine three = router.add(URI.create("http://three"), CacheTraits.vllm());

        assertThat(Stream.generate(() -> router.choose(new int[64])).limit(5))
                .containsExactly(one, two, three, one, two);
    }

    @Test
    void choose_promptShorterThanABlock_takesTurns() {
        PrefixRouter router = new PrefixRouter(16);
        PrefixRouter.Engine one = router.add(URI.create("http://one"), CacheTraits.sglang());
        PrefixRouter.Engine two = router.add(URI.create("http://two"), CacheTraits.sglang());

        assertThat(List.of(router.choose(new int[0]), router.choose(new int[15])))
                .containsExactly(one, two);
    }

    @Test
    void theExampleIsUnder150LinesLong() throws IOException {
        try (Stream<Path> sources = Files.walk(Path.of("src", "main", "java"))) {
            List<Path> files =
                    sources.filter(path -> path.toString().endsWith(".java")).toList();
            int lines = 0;
            for (Path file : files) {
                lines += Files.readAllLines(file).size();
            }
            assertThat(files).hasSizeGreaterThan(1);
            assertThat(lines).isLessThan(150);
        }
    }
}
