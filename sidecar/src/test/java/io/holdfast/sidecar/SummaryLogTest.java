package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** The sentence on each engine that the sidecar writes into its log now and then. */
class SummaryLogTest {
    @Test
    void summaries_comeAgainAndAgainWithThePeriod(@TempDir Path state) {
        List<String> lines = new CopyOnWriteArrayList<>();
        AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                lines.add(event.getLevel() + " " + event.getFormattedMessage());
            }
        };
        Logger log = (Logger) LoggerFactory.getLogger("io.holdfast.summary");
        Level before = log.getLevel();
        log.setLevel(Level.INFO);
        appender.start();
        log.addAppender(appender);
        Vertx vertx = Vertx.vertx();
        SharedServices.Seams seams = SharedServices.Seams.none().withSummaries(Duration.ofMillis(20));
        assertThat(SharedServices.Seams.none().summaries()).isEqualTo(Duration.ofMinutes(10));
        try (Sidecar sidecar = Sidecar.start(
                vertx,
                TestBed.config(state, URI.create("http://127.0.0.1:1"), ""),
                new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                seams)) {
            assertThat(sidecar.uri().getPort()).isPositive();
            Eventually.see("two summaries", lines::size, count -> count >= 2);

            assertThat(lines)
                    .allSatisfy(line -> assertThat(line)
                            .startsWith("INFO Engine demo holds nothing; whether holding helps: cannot tell yet;")
                            .endsWith("."));
        } finally {
            log.detachAppender(appender);
            log.setLevel(before);
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }
}
