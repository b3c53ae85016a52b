package io.holdfast.app.sidecar;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.JsonEncoder;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.encoder.Encoder;
import ch.qos.logback.core.joran.spi.ConsoleTarget;
import ch.qos.logback.core.spi.ContextAwareBase;
import io.holdfast.app.cli.CommandException;
import java.io.Console;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log on standard error, in code: an XML file would bring a parser and 400 classes into every process. Quiet, since a
 * fault reaches the person at the terminal as a sentence; the log is for what happens behind their back. The environment
 * variable {@code HOLDFAST_LOG} is the level; {@code -Dlogback.configurationFile=FILE} puts a file in place of all this.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_HIGH_PRIORITY)
public final class LogSetup extends ContextAwareBase implements Configurator {
    /** What this logger tells is told at any level: it is not much. */
    static final String ALWAYS = "io.holdfast.sidecar.process";

    /** What becomes of engines and holds: bounded lines, which a sidecar's log has unless it is told otherwise. */
    static final String NEWS = "io.holdfast.news";

    private static final String SUMMARY = "io.holdfast.summary";

    static final String STANDSTILL = "io.vertx.core.impl.BlockedThreadChecker";

    private static final String SHORT = "%d{HH:mm:ss.SSS} %-5level %logger{20} %msg%kvp%n";

    /** For the service loader. */
    public LogSetup() {}

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        if (System.getProperty("logback.configurationFile") != null) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        ConsoleAppender<ILoggingEvent> standardError = new ConsoleAppender<>();
        standardError.setContext(context);
        standardError.setName("err");
        standardError.setTarget(ConsoleTarget.SystemErr.getName());
        standardError.setEncoder(text(context, SHORT));
        standardError.start();
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(standardError);
        context.getLogger(Logger.ROOT_LOGGER_NAME)
                .setLevel(Level.toLevel(
                        Optional.ofNullable(System.getenv("HOLDFAST_LOG")).orElse(""), Level.WARN));
        // One sentence an engine every ten minutes, for whoever reads this log later.
        if (System.getenv("HOLDFAST_LOG") == null) {
            context.getLogger(SUMMARY).setLevel(Level.INFO);
        }
        context.getLogger(ALWAYS).setLevel(Level.INFO);
        // Vert.x registers its gauge of active requests more than once; Micrometer keeps the first and warns.
        context.getLogger("io.micrometer.core.instrument.MeterRegistry").setLevel(Level.ERROR);
        // A connection that arrives while the demo ends an engine's life is refused, which Netty tells with a stack
        // trace.
        context.getLogger("io.netty.bootstrap.ServerBootstrap").setLevel(Level.ERROR);
        // A command's event loop that stands still on a busy machine, which Vert.x tells with a stack trace: a load
        // test
        // measures that itself and says what it spoiled. A sidecar has its log to read afterwards.
        if (System.getenv("HOLDFAST_LOG") == null) {
            context.getLogger(STANDSTILL).setLevel(Level.ERROR);
        }
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    /** How a log is written. */
    enum Form {
        /** For a person at a terminal. */
        TERMINAL,
        /** For a person who reads it later: with the date. */
        TEXT,
        /** An object a line. */
        JSON
    }

    /**
     * Has the log go by what was asked for: a flag before a variable.
     *
     * @throws CommandException where the words are none of those
     */
    static Form choose(Map<String, String> environment, @Nullable String level, @Nullable String format) {
        String how = Optional.ofNullable(format)
                .or(() -> Optional.ofNullable(environment.get("HOLDFAST_LOG_FORMAT")))
                .orElse("text");
        // The third was the default once, and stands in files.
        require(Set.of("auto", "json", "text"), format == null ? "HOLDFAST_LOG_FORMAT" : "--log-format", how);
        Optional<String> least =
                Optional.ofNullable(level).or(() -> Optional.ofNullable(environment.get("HOLDFAST_LOG")));
        least.ifPresent(word -> require(
                Set.of("error", "warn", "info", "debug", "trace", "off"),
                level == null ? "HOLDFAST_LOG" : "--log-level",
                word.toLowerCase(Locale.ROOT)));
        Form form = how.equals("json") ? Form.JSON : isTerminal() ? Form.TERMINAL : Form.TEXT;
        if (!(LoggerFactory.getILoggerFactory() instanceof LoggerContext context)
                || System.getProperty("logback.configurationFile") != null) {
            return form;
        }
        context.getLogger(STANDSTILL).setLevel(null);
        context.getLogger(NEWS).setLevel(least.isPresent() ? null : Level.INFO);
        least.ifPresent(word -> {
            context.getLogger(Logger.ROOT_LOGGER_NAME).setLevel(Level.toLevel(word, Level.WARN));
            context.getLogger(SUMMARY).setLevel(null);
        });
        if (context.getLogger(Logger.ROOT_LOGGER_NAME).getAppender("err")
                instanceof ConsoleAppender<ILoggingEvent> err) {
            err.setEncoder(
                    switch (form) {
                        case JSON -> json(context);
                        case TEXT -> text(context, "%d{\"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\"} %-5level %msg%kvp%n");
                        case TERMINAL -> text(context, SHORT);
                    });
        }
        return form;
    }

    private static void require(Set<String> known, String where, String written) {
        if (!known.contains(written)) {
            throw new CommandException(
                    where + " is '" + written + "'; write " + String.join(" or ", new TreeSet<>(known)) + ".");
        }
    }

    private static Encoder<ILoggingEvent> json(LoggerContext context) {
        JsonEncoder encoder = new JsonEncoder();
        encoder.setContext(context);
        encoder.setWithSequenceNumber(false);
        encoder.setWithContext(false);
        encoder.setWithArguments(false);
        encoder.setWithMessage(false);
        encoder.setWithFormattedMessage(true);
        encoder.start();
        return encoder;
    }

    private static Encoder<ILoggingEvent> text(LoggerContext context, String pattern) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern(pattern);
        encoder.start();
        return encoder;
    }

    /** Whether a person sees what is written to standard output. */
    private static boolean isTerminal() {
        try {
            String to = Files.readSymbolicLink(Path.of("/proc/self/fd/1")).toString();
            return to.startsWith("/dev/pts/") || to.startsWith("/dev/tty") || to.startsWith("/dev/console");
        } catch (IOException e) {
            return Optional.ofNullable(System.console())
                    .map(Console::isTerminal)
                    .orElse(false);
        }
    }
}
