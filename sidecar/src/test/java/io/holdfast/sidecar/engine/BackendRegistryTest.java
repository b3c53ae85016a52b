package io.holdfast.sidecar.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.AutoBackend;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.pin.Ledger;
import io.holdfast.http.EngineHttp;
import io.holdfast.http.EngineHttpSettings;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.engine.EngineFamily.BackendParts;
import java.io.IOException;
import java.net.URI;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What is said of a backend where there is no engine to make one for is what is true of each that is made. */
class BackendRegistryTest {
    private static final URI NOBODY = URI.create("http://127.0.0.1:9");

    @ParameterizedTest
    @EnumSource
    void traitsOfAKind_areThoseOfEachThatIsMade(EngineType type) {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
                ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
                EngineHttp http = new EngineHttp(EngineHttpSettings.of(NOBODY), executor, timer, System::nanoTime)) {
            BackendParts parts = parts(type, http, timer);

            assertThat(EngineFamily.of(type).backends()).isNotEmpty().allSatisfy((name, kind) -> {
                assertThat(kind.of(parts).name()).isEqualTo(name);
                assertThat(kind.of(parts).traits()).isEqualTo(kind.traits());
            });
            assertThat(type.backends())
                    .startsWith(AutoBackend.NAME)
                    .endsWith(DryRunBackend.NAME)
                    .filteredOn(name ->
                            !Set.of(AutoBackend.NAME, DryRunBackend.NAME).contains(name))
                    .containsExactlyElementsOf(EngineFamily.of(type).backends().keySet());
        }
    }

    private static BackendParts parts(EngineType type, EngineHttp http, ScheduledExecutorService timer) {
        return new BackendParts(
                EngineConfig.of("demo", type, NOBODY),
                http,
                http,
                Optional.empty(),
                timer,
                System::nanoTime,
                new SplittableRandom(1));
    }

    @ParameterizedTest
    @CsvSource({
        "SGLANG,       streaming_session, session_hold",
        "VLLM,         nixl_lease,        vllm_connector",
    })
    void auto_choosesAmongThoseThatAreNotTakenByTheirNamesAlone(EngineType type, String never, String among)
            throws IOException {
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
                ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor();
                EngineHttp http = new EngineHttp(EngineHttpSettings.of(NOBODY), executor, timer, System::nanoTime)) {
            BackendParts parts = parts(type, http, timer);

            assertThat(BackendRegistry.of(
                                    parts.config(),
                                    new Ledger(new EventThreadTest.NoLedger()),
                                    parts,
                                    UnaryOperator.identity())
                            .earlier())
                    .extracting(Backend::name)
                    .contains(among)
                    .doesNotContain(never);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "session_hold,      true",
        "pin_blocks,        true",
        "priority_touch,    false",
        "streaming_session, true",
        "keep_warm,         true",
        "vllm_connector,    true",
        "nixl_lease,        true",
        "dry_run,           true"
    })
    void pinOfABackend_isSaidToGo(String backend, boolean letsGo) {
        assertThat(BackendRegistry.letsGo(backend)).isEqualTo(letsGo);
    }

    @Test
    void backendOfAnotherVersion_isHopedToLetGo() {
        assertThat(BackendRegistry.letsGo("of_tomorrow")).isTrue();
    }
}
