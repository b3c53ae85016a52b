package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.prefix.PrefixEviction;
import io.holdfast.sidecar.HeardLog;
import io.holdfast.sidecar.fleet.Sidecar;
import io.vertx.core.VertxOptions;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The news of an engine, in virtual time. */
class EngineNewsTest {
    private static final Optional<String> ANSWERS = Optional.empty();
    private static final Optional<String> NOBODY = Optional.of("Nothing listens at http://a:1: is the engine running?");
    private static final Capabilities SESSIONS = new Capabilities(true, "Chosen: session_hold.");

    private final HeardLog log = new HeardLog(EngineNews.LOGGER, Level.INFO);
    private long now = Long.MAX_VALUE - Duration.ofSeconds(30).toNanos();
    private final EngineNews news = new EngineNews("newsworthy", () -> now);

    @AfterEach
    void end() {
        log.close();
    }

    private List<String> lines() {
        return log.lines.stream()
                .filter(line -> line.contains(" Engine newsworthy "))
                .map(line -> line.replace("Engine newsworthy ", ""))
                .toList();
    }

    /** Looks twice a second for so long. */
    private void look(Duration during, Optional<String> silence, Optional<Capabilities> can, String... unready) {
        for (long half = 0; half < during.toMillis() / 500; half++) {
            news.look(new EngineNews.Seen(silence, "session_hold", can, true, List.of(unready)));
            now += Duration.ofMillis(500).toNanos();
        }
    }

    @Test
    void engineThatNeverAnswered_isToldWithinSecondsAndOnce_andSoIsItsFirstAnswer() {
        look(Duration.ofSeconds(4), NOBODY, Optional.empty(), "it has not answered yet");

        String silent =
                "WARN does not answer: Nothing listens at http://a:1: is the engine running? Nothing more is held"
                        + " there before it does, and it is asked again and again; see that it runs, and that"
                        + " engines.newsworthy.url is its address.";
        assertThat(lines()).containsExactly(silent);

        look(Duration.ofMinutes(10), NOBODY, Optional.empty(), "it has not answered yet");
        assertThat(lines()).containsExactly(silent, "WARN has not been ready for a minute: it has not answered yet.");

        look(Duration.ofSeconds(5), ANSWERS, Optional.of(SESSIONS));
        assertThat(lines().subList(2, lines().size()))
                .containsExactly(
                        "INFO answers now, after 10 min.",
                        "INFO can hold by session_hold: Chosen: session_hold. Automatic holds are on for this engine"
                                + " (session_hold); automaticHolds: false switches them off.",
                        "INFO is ready again, after 10 min.");
    }

    @Test
    void evictionsOfSharedPrefixes_areToldOnceAndAtDebugLevelAlone() {
        PrefixEviction first = new PrefixEviction(1, 7, 16, Duration.ofSeconds(12));
        news.evicted(List.of(first), OptionalDouble.of(64));
        assertThat(lines()).isEmpty();
        try (HeardLog all = new HeardLog(EngineNews.LOGGER, Level.DEBUG)) {
            news.evicted(List.of(first, new PrefixEviction(2, 8, 3, Duration.ZERO)), OptionalDouble.of(64));
            news.evicted(List.of(new PrefixEviction(9, 7, 16, Duration.ofMinutes(2))), OptionalDouble.empty());
            assertThat(all.lines)
                    .filteredOn(line -> line.contains("newsworthy"))
                    .containsExactly(
                            "DEBUG Engine newsworthy evicted a shared prefix of 3 blocks (192 tokens), 0 s after its"
                                    + " last use.",
                            "DEBUG Engine newsworthy evicted 6 more shared prefixes.",
                            "DEBUG Engine newsworthy evicted a shared prefix of 16 blocks, 120 s after its last use.");
        }
    }

    @Test
    void lateAnswer_isNoNews_andALossIs() {
        look(Duration.ofSeconds(2), ANSWERS, Optional.of(SESSIONS));
        int told = lines().size();
        for (int each = 0; each < 50; each++) {
            look(Duration.ofSeconds(2), NOBODY, Optional.of(SESSIONS), "its events do not answer at tcp://a:2");
            look(Duration.ofSeconds(1), ANSWERS, Optional.of(SESSIONS));
        }
        assertThat(lines()).hasSize(told);

        look(Duration.ofSeconds(40), NOBODY, Optional.of(SESSIONS), "its events do not answer at tcp://a:2");
        look(Duration.ofSeconds(1), ANSWERS, Optional.of(SESSIONS));
        assertThat(lines().subList(told, lines().size()))
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("WARN does not answer any more: Nothing listens"),
                        line -> assertThat(line).isEqualTo("INFO answers again, after 40 s."));
    }

    @Test
    void backend_isToldAnewWhereItIsAnother() {
        Capabilities none = new Capabilities(false, "No way to hold works on this engine.");
        look(Duration.ofSeconds(2), ANSWERS, Optional.of(SESSIONS));
        look(Duration.ofSeconds(2), ANSWERS, Optional.empty());
        look(Duration.ofSeconds(2), ANSWERS, Optional.of(SESSIONS));
        assertThat(lines()).hasSize(1);

        look(Duration.ofSeconds(2), ANSWERS, Optional.of(none));
        assertThat(lines()).hasSize(2);
        assertThat(lines().getLast())
                .isEqualTo("INFO is followed, and nothing can be held there: No way to hold works on this engine.");
    }

    @Test
    void holdsThatComeAndGo_areBoundedAndCounted() {
        for (int hold = 0; hold < 1000; hold++) {
            news.say("hold " + hold);
        }
        assertThat(lines()).hasSize(EngineNews.LINES);

        look(Duration.ofSeconds(61), ANSWERS, Optional.empty());

        assertThat(lines().subList(EngineNews.LINES, lines().size()))
                .containsExactly("INFO had 980 more lines in a minute; --log-level debug tells each.");
        news.say("hold 1000");
        assertThat(lines()).last().isEqualTo("INFO hold 1000");
    }

    @Test
    void memoryBelowTheLeast_isOneSentenceWithTheMend() {
        assertThat(Sidecar.shortOf(256L << 20)).isEmpty();
        assertThat(Sidecar.shortOf(128L << 20).orElseThrow())
                .startsWith("This process may take 128 MiB of memory, and with automatic holds it needs 256 MiB: ")
                .endsWith("raise the limit of its container, or write automaticHolds: false.");
    }

    @Test
    void eventLoop_isToldToStandStillAfterTenSecondsOnly() {
        VertxOptions options = Sidecar.options();

        assertThat(options.getMaxEventLoopExecuteTimeUnit().toMillis(options.getMaxEventLoopExecuteTime()))
                .isEqualTo(TimeUnit.SECONDS.toMillis(10));
    }
}
