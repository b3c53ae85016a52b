package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.vertx.core.Vertx;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class CalibrationTest {
    private static final int TOKENS = 8;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource(CompletionRoute.class)
    void everyRoute_isReadTokenByToken(CompletionRoute route) {
        Calibration.Level level = calibration(route).againstItself(3);
        assertThat(level.failed()).isZero();
        assertThat(level.tokens()).isEqualTo(3L * 2 * TOKENS);
        assertThat(level.records()).allSatisfy(record -> {
            assertThat(record.completionTokens()).hasValue(TOKENS);
            assertThat(record.itlMillis()).hasSize(TOKENS - 1);
            assertThat(record.firstAnswer()).isEqualTo(record.firstToken());
        });
    }

    @Test
    void stampsOfItsOwnServer_tellHowLateTheClientIs() {
        Calibration.Level level =
                calibration(CompletionRoute.OPENAI_COMPLETIONS).againstItself(2);
        assertThat(level.first().orElseThrow().median()).isPositive();
        assertThat(level.gaps().orElseThrow().median()).isNotNegative();
        assertThat(level.loopMicros()).isPositive();
    }

    @Test
    void warmth_isMeasuredInWholeRounds() {
        ClientWarmUp.Warmth warmth = new ClientWarmUp(
                        vertx, HttpSettings.defaults().withRoute(CompletionRoute.OPENAI_COMPLETIONS), System::nanoTime)
                .run(1);
        assertThat(warmth.tokens()).isEqualTo(4_000);
        assertThat(warmth.lastLagMicros()).isPositive();
    }

    @Test
    void serverThatAnswersNothing_isOneSentence() {
        assertThatThrownBy(() ->
                        calibration(CompletionRoute.OPENAI_COMPLETIONS).against(URI.create("http://127.0.0.1:9"), 1))
                .isInstanceOf(LoadTestException.class);
    }

    @Test
    void promptSentAsIds_hasItsLengthInTheRecord() {
        assertThat(calibration(CompletionRoute.OPENAI_COMPLETIONS)
                        .againstItself(1)
                        .records())
                .extracting(RequestRecord::sentTokens)
                .allSatisfy(length -> assertThat(length).hasValue(4));
        assertThat(calibration(CompletionRoute.OPENAI_CHAT).againstItself(1).records())
                .extracting(RequestRecord::sentTokens)
                .allSatisfy(length -> assertThat(length).isEmpty());
    }

    private Calibration calibration(CompletionRoute route) {
        return new Calibration(
                vertx,
                HttpSettings.defaults().withRoute(route).withModel("m"),
                System::nanoTime,
                new Calibration.Plan(2, 4, TOKENS, Duration.ofMillis(1)));
    }
}
