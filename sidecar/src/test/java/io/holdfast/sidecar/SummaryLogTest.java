package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.holdfast.sidecar.engine.SharedServices;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The sentence on each engine that the sidecar writes into its log now and then. */
class SummaryLogTest {
    @Test
    void summaries_comeAgainAndAgainWithThePeriod(@TempDir Path state) {
        Vertx vertx = Vertx.vertx();
        SharedServices.Seams seams = SharedServices.Seams.none().withSummaries(Duration.ofMillis(20));
        assertThat(SharedServices.Seams.none().summaries()).isEqualTo(Duration.ofMinutes(10));
        try (HeardLog log = new HeardLog("io.holdfast.summary", Level.INFO);
                Sidecar sidecar = Sidecar.start(
                        vertx,
                        TestBed.config(state, URI.create("http://127.0.0.1:1"), ""),
                        new PrometheusMeterRegistry(PrometheusConfig.DEFAULT),
                        seams)) {
            assertThat(sidecar.uri().getPort()).isPositive();
            Eventually.see("two summaries", log.lines::size, count -> count >= 2);

            assertThat(log.lines)
                    .allSatisfy(line -> assertThat(line)
                            .startsWith("INFO Engine demo holds nothing; automatic holds wait for a way to hold")
                            .contains("; whether holding helps: cannot tell yet")
                            .endsWith("."));
        } finally {
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }
}
