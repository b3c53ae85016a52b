package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.EngineUnderTest;
import io.holdfast.loadtest.run.EngineUnderTest.Load;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Answers that come as a whole, of an emulated engine over sockets. */
final class WholeAnswersTest {
    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void stop() throws Exception {
        vertx.close().toCompletionStage().toCompletableFuture().get(30, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @EnumSource(CompletionRoute.class)
    void wholeAnswer_isTheStreamedOneWithoutAFirstToken(CompletionRoute route) {
        HttpSettings settings = HttpSettings.defaults().withRoute(route).withModel("holdfast-emulated");
        try (EmulatedUnit unit = new EmulatedUnit(vertx, EmulatorSettings.defaults());
                HttpEngine engine = new HttpEngine(vertx, unit, settings, RunClock.system())) {
            RequestRecord streamed = ask(engine);
            EngineUnderTest same = engine.withoutStreams();
            RequestRecord whole = ask(same);
            assertThat(whole.problem()).isEmpty();
            assertThat(whole.isOk()).isTrue();
            assertThat(whole.output()).isPresent().isEqualTo(streamed.output());
            assertThat(whole.completionTokens())
                    .isEqualTo(streamed.completionTokens())
                    .hasValue(8);
            assertThat(whole.promptTokens()).isEqualTo(streamed.promptTokens());
            assertThat(whole.ttftMillis()).isEmpty();
            assertThat(whole.tpotMillis()).isEmpty();
            assertThat(whole.itlMillis()).isEmpty();
            assertThat(whole.endToEndMillis()).isPresent();
            assertThat(streamed.ttftMillis()).isPresent();
            assertThat(same.withoutStreams()).isSameAs(same);
            assertThat(same.client()).containsEntry("answers", "whole");
        }
    }

    private static RequestRecord ask(EngineUnderTest engine) {
        int[] text = IntStream.range(1_000, 1_040).toArray();
        Load load = engine.prepare(List.of(new LoadRequest(Role.LOAD, 0, text, 8)));
        load.connect(1);
        return load.send(1, 1).getFirst();
    }
}
