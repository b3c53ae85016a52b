package io.holdfast.sidecar;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.LoggerFactory;

/** What one logger tells from now on, whoever tells it: the logger is the whole process's. */
public final class HeardLog implements AutoCloseable {
    /** A level and a message each. */
    public final List<String> lines = new CopyOnWriteArrayList<>();

    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            lines.add(event.getLevel() + " " + event.getFormattedMessage());
        }
    };
    private final Logger logger;
    private final Level before;

    public HeardLog(String name, Level least) {
        // While another thread sets logging up there is a stand-in for it.
        LoggerContext context = (LoggerContext)
                Eventually.see("logging is set up", LoggerFactory::getILoggerFactory, LoggerContext.class::isInstance);
        logger = context.getLogger(name);
        before = logger.getLevel();
        logger.setLevel(least);
        appender.start();
        logger.addAppender(appender);
    }

    @Override
    public void close() {
        logger.detachAppender(appender);
        logger.setLevel(before);
    }
}
