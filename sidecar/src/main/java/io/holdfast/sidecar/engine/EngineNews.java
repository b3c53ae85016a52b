package io.holdfast.sidecar.engine;

import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.prefix.PrefixEviction;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * The news of one engine, which a log has without being asked for more: whether it answers, the backend that was chosen, when it
 * is not ready, and what becomes of its holds.
 *
 * <p>Holds come and go with the traffic, so of the lines of one minute only the first are told each, and the rest by their
 * number. Any thread.
 */
final class EngineNews {
    /** A logger of its own, so that news can be had where little else is logged. */
    static final String LOGGER = "io.holdfast.news";

    /** Number of lines that one minute has. */
    static final int LINES = 20;

    /** Duration of a silence that is news: one answer may be late. */
    static final Duration SILENT = Duration.ofSeconds(3);

    static final Duration UNREADY = Duration.ofMinutes(1);

    private static final Logger LOG = LoggerFactory.getLogger(LOGGER);
    private static final long MINUTE = Duration.ofMinutes(1).toNanos();

    private final String engineId;
    private final LongSupplier clock;
    private final Spell silence = new Spell();
    private final Spell unreadiness = new Spell();
    private boolean answered;
    private String backend = "";
    private long minuteBegan;
    private int lines;
    private int leftOut;
    private long evictions;

    /** Something that may last, and is told once it has lasted long enough. */
    private static final class Spell {
        private OptionalLong since = OptionalLong.empty();
        private boolean told;

        /** Returns whether it is to be told now. */
        private boolean lasts(long now, Duration enough) {
            if (since.isEmpty()) {
                since = OptionalLong.of(now);
            }
            boolean first = !told && now - since.getAsLong() >= enough.toNanos();
            told |= first;
            return first;
        }

        /** Ends it; returns how long it was, where it was told. */
        private Optional<Duration> ended(long now) {
            Optional<Duration> lasted =
                    told ? Optional.of(Duration.ofNanos(now - since.orElse(now))) : Optional.empty();
            since = OptionalLong.empty();
            told = false;
            return lasted;
        }
    }

    /**
     * An engine at one moment.
     *
     * @param silence the reason for which its numbers are not known; absent where they are
     * @param backend what the chosen backend can do; absent while that is not known
     * @param automatic whether holds are chosen without being asked for
     * @param unready the reasons for which it cannot be looked after; empty where it can
     */
    record Seen(
            Optional<String> silence,
            String backendName,
            Optional<Capabilities> backend,
            boolean automatic,
            List<String> unready) {}

    /** @param clock in nanoseconds, monotonic */
    EngineNews(String engineId, LongSupplier clock) {
        this.engineId = engineId;
        this.clock = clock;
        this.minuteBegan = clock.getAsLong();
    }

    /** Tells what has changed since the last look. */
    synchronized void look(Seen seen) {
        long now = clock.getAsLong();
        minute(now);
        answers(seen.silence, now);
        seen.backend
                .map(can -> told(seen, can))
                .filter(text -> !text.equals(backend))
                .ifPresent(text -> {
                    backend = text;
                    say(Level.INFO, text);
                });
        if (seen.unready.isEmpty()) {
            unreadiness.ended(now).ifPresent(lasted -> say(Level.INFO, "is ready again, after " + shown(lasted) + "."));
        } else if (unreadiness.lasts(now, UNREADY)) {
            say(Level.WARN, "has not been ready for a minute: " + String.join("; ", seen.unready) + ".");
        }
    }

    private void answers(Optional<String> silent, long now) {
        if (silent.isPresent()) {
            if (silence.lasts(now, SILENT)) {
                say(
                        Level.WARN,
                        (answered ? "does not answer any more: " : "does not answer: ") + silent.get()
                                + " Nothing more is held there before it does, and it is asked again and again; see"
                                + " that it runs, and that engines." + engineId + ".url is its address.");
            }
            return;
        }
        boolean before = answered;
        answered = true;
        silence.ended(now)
                .ifPresent(lasted -> say(
                        Level.INFO,
                        before
                                ? "answers again, after " + shown(lasted) + "."
                                : "answers now, after " + shown(lasted) + "."));
    }

    private static String told(Seen seen, Capabilities can) {
        if (!can.canPin()) {
            return "is followed, and nothing can be held there: " + can.why();
        }
        return "can hold by " + seen.backendName + ": " + can.why()
                + (seen.automatic
                        ? " Automatic holds are on for this engine (" + seen.backendName
                                + "); automaticHolds: false switches them off."
                        : " Automatic holds are off for this engine, so only requested prefixes are held;"
                                + " automaticHolds: true switches them on.");
    }

    /**
     * Tells at debug level which shared prefixes were evicted since the last look. Where they were more than are remembered in
     * between, the number of the others.
     *
     * @param blockTokens absent where the size of a block is not known
     */
    synchronized void evicted(List<PrefixEviction> last, OptionalDouble blockTokens) {
        for (PrefixEviction each : last) {
            if (each.number() <= evictions) {
                continue;
            }
            if (each.number() > evictions + 1) {
                LOG.debug("Engine {} evicted {} more shared prefixes.", engineId, each.number() - evictions - 1);
            }
            evictions = each.number();
            LOG.debug(
                    "Engine {} evicted a shared prefix of {} blocks{}, {} s after its last use.",
                    engineId,
                    each.blocks(),
                    blockTokens.isPresent()
                            ? String.format(Locale.ROOT, " (%,.0f tokens)", blockTokens.getAsDouble() * each.blocks())
                            : "",
                    each.idle().toSeconds());
        }
    }

    /** Tells a line about the engine's holds, or counts it where this minute has had enough. */
    synchronized void say(String text) {
        minute(clock.getAsLong());
        say(Level.INFO, text);
    }

    private void say(Level level, String text) {
        if (lines < LINES) {
            lines++;
            LOG.atLevel(level).log("Engine {} {}", engineId, text);
        } else {
            leftOut++;
            LOG.debug("Engine {} {}", engineId, text);
        }
    }

    private void minute(long now) {
        if (now - minuteBegan < MINUTE) {
            return;
        }
        if (leftOut > 0) {
            LOG.info("Engine {} had {} more lines in a minute; --log-level debug tells each.", engineId, leftOut);
        }
        minuteBegan = now;
        lines = 0;
        leftOut = 0;
    }

    private static String shown(Duration lasted) {
        return lasted.toSeconds() < 120
                ? lasted.toSeconds() + " s"
                : String.format(Locale.ROOT, "%,d min", lasted.toMinutes());
    }
}
