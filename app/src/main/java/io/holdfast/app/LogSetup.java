package io.holdfast.app;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ConfiguratorRank;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.joran.spi.ConsoleTarget;
import ch.qos.logback.core.spi.ContextAwareBase;
import java.util.Optional;
import org.slf4j.Logger;

/**
 * The log on standard error, in code: an XML file would bring a parser and 400 classes into every process. Quiet, since a
 * fault reaches the person at the terminal as a sentence; the log is for what happens behind their back. The environment
 * variable {@code HOLDFAST_LOG} is the level; {@code -Dlogback.configurationFile=FILE} puts a file in place of all this.
 */
@ConfiguratorRank(ConfiguratorRank.CUSTOM_HIGH_PRIORITY)
public final class LogSetup extends ContextAwareBase implements Configurator {
    /** For the service loader. */
    public LogSetup() {}

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        if (System.getProperty("logback.configurationFile") != null) {
            return ExecutionStatus.INVOKE_NEXT_IF_ANY;
        }
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern("%d{HH:mm:ss.SSS} %-5level %logger{20} %msg%kvp%n");
        encoder.start();
        ConsoleAppender<ILoggingEvent> standardError = new ConsoleAppender<>();
        standardError.setContext(context);
        standardError.setName("err");
        standardError.setTarget(ConsoleTarget.SystemErr.getName());
        standardError.setEncoder(encoder);
        standardError.start();
        context.getLogger(Logger.ROOT_LOGGER_NAME).addAppender(standardError);
        context.getLogger(Logger.ROOT_LOGGER_NAME)
                .setLevel(Level.toLevel(
                        Optional.ofNullable(System.getenv("HOLDFAST_LOG")).orElse(""), Level.WARN));
        // One sentence an engine every ten minutes, for whoever reads this log later.
        if (System.getenv("HOLDFAST_LOG") == null) {
            context.getLogger("io.holdfast.summary").setLevel(Level.INFO);
        }
        // Vert.x registers its gauge of active requests more than once; Micrometer keeps the first and warns.
        context.getLogger("io.micrometer.core.instrument.MeterRegistry").setLevel(Level.ERROR);
        // A connection that arrives while the demo ends an engine's life is refused, which Netty tells with a stack
        // trace.
        context.getLogger("io.netty.bootstrap.ServerBootstrap").setLevel(Level.ERROR);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }
}
