package io.holdfast.app.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.Configurator.ExecutionStatus;
import ch.qos.logback.core.ConsoleAppender;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

class LogSetupTest {
    @Test
    void commandsLog_warnsOnStandardError() {
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();

        assertThat(context.getLogger(Logger.ROOT_LOGGER_NAME).getAppender("err"))
                .isInstanceOfSatisfying(
                        ConsoleAppender.class,
                        appender -> assertThat(appender.getTarget()).isEqualTo("System.err"));
    }

    @Test
    void freshContext_isQuietAndLeavesNothingToAFile() {
        LoggerContext context = new LoggerContext();

        assertThat(new LogSetup().configure(context)).isEqualTo(ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY);

        assertThat(context.getLogger("io.netty.bootstrap.ServerBootstrap").getLevel())
                .isEqualTo(Level.ERROR);
        assertThat(context.getLogger("io.holdfast").isInfoEnabled()).isFalse();
        assertThat(context.getLogger(LogSetup.NEWS).isInfoEnabled())
                .as("the sidecar of a demo tells none")
                .isFalse();
        assertThat(context.getLogger(LogSetup.STANDSTILL).isWarnEnabled())
                .as("no stack trace at a terminal")
                .isFalse();
        context.stop();
    }
}
