package io.holdfast.sidecar.look;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.rules.fault.ServerFault;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.sglang.SglangSettings.Eviction;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.rules.vllm.VllmSettings;
import io.holdfast.sidecar.BareSglang;
import io.holdfast.sidecar.EngineClient;
import io.holdfast.sidecar.TestBed;
import io.holdfast.sidecar.config.ConfigException;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EngineTarget;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is found out about an engine over its sockets. */
class DoctorTest {
    @TempDir
    Path folder;

    private final Vertx vertx = Vertx.vertx();

    @AfterEach
    void close() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    @Test
    void stockSglang_withSessions_nothingIsMissing() throws IOException {
        try (Emulator engine = Emulator.start(
                vertx,
                TestBed.fast()
                        .withSglang(its -> its.withSessions(true))
                        .withEndpoints(new Endpoints(Endpoints.LOOPBACK, 0, 0, OptionalInt.of(0))))) {
            Diagnosis found = examine(engine, true, target -> target);

            assertThat(found.fails()).as(found.findings().toString()).isFalse();
            assertThat(found.inconclusive()).isFalse();
            assertThat(found.engine()).isEqualTo("SGLang 0.5.23 at " + engine.uri());
            assertThat(subjects(found, Status.WARNING)).isEmpty();
            assertThat(subjects(found, Status.OK))
                    .containsExactly(
                            "engine",
                            "model",
                            "context",
                            "cache",
                            "block size",
                            "metrics",
                            "request",
                            "events",
                            "event format",
                            "replay",
                            "block hashes",
                            "clock",
                            "tokenizer",
                            "cache report",
                            "session_hold",
                            "keep_warm");
            assertThat(found.backend()).isEqualTo("session_hold");
            assertThat(SidecarConfig.parse(found.configuration(), "pasted").engines())
                    .singleElement()
                    .satisfies(its -> assertThat(its.url()).isEqualTo(engine.uri()))
                    .satisfies(its -> assertThat(its.backend()).isEqualTo("auto"));
        }
    }

    /** By the emulator alone, which is what doctor says of itself. */
    @Test
    void tensorRt_isRecognised_andNothingIsSaidToBeProven() {
        VllmSettings settings = VllmSettings.defaults().withRelease(VllmSettings.Release.TENSORRT_LLM);
        try (Emulator engine = Emulator.start(
                vertx,
                TestBed.fast()
                        .withKind(new EmulatorSettings.Kind.Vllm(settings))
                        .withEndpoints(new Endpoints(Endpoints.LOOPBACK, 0, 0, OptionalInt.of(0))))) {
            Diagnosis found = examine(
                    engine,
                    true,
                    target -> new EngineTarget(
                            target.url(),
                            target.type(),
                            Optional.of(engine.eventsEndpoint()),
                            engine.replayEndpoint(),
                            target.topic(),
                            target.kvcachedSegment(),
                            target.apiKeyEnv(),
                            target.connectorSecretEnv()));

            assertThat(found.engine()).isEqualTo("TensorRT-LLM 1.4.0 at " + engine.uri());
            assertThat(found.fails()).as(found.findings().toString()).isFalse();
            assertThat(finding(found, "proof").text())
                    .isEqualTo("Holdfast was never run beside a real TensorRT-LLM: it goes by the engine's source and"
                            + " documents.");
            assertThat(finding(found, "block hashes"))
                    .isEqualTo(Finding.ok("block hashes", "TensorRT-LLM's radix keys: holds by tokens are possible"));
            assertThat(finding(found, "tokenizer").text()).startsWith("TensorRT-LLM has no settled route");
            assertThat(finding(found, "cache").text()).startsWith("It is not known.");
            assertThat(finding(found, "cache").mend().orElse("")).contains("before the engine's first request");
            assertThat(found.backend()).isEqualTo("keep_warm");
            assertThat(found.configuration()).contains("type: tensorrt_llm");
        }
    }

    @Test
    void tensorRtThatPublishesNothing_isToldWhatToWrite() {
        VllmSettings settings = VllmSettings.defaults().withRelease(VllmSettings.Release.TENSORRT_LLM);
        try (Emulator engine =
                Emulator.start(vertx, TestBed.fast().withKind(new EmulatorSettings.Kind.Vllm(settings)))) {
            Diagnosis found = examine(
                    engine,
                    false,
                    target -> new EngineTarget(
                            target.url(),
                            Optional.of("tensorrt_llm"),
                            Optional.of("tcp://127.0.0.1:1"),
                            target.replay(),
                            target.topic(),
                            target.kvcachedSegment(),
                            target.apiKeyEnv(),
                            target.connectorSecretEnv()));

            assertThat(finding(found, "events").mend().orElse(""))
                    .startsWith("kv_cache_config: {use_kv_cache_manager_v2: true, kv_events_config:"
                            + " {enable_kv_cache_events: true, endpoint: \"tcp://*:1\"");
        }
    }

    @Test
    void stockSglang_withStreamingSessions_isToldTheName_andTakesAnother() {
        try (Emulator engine = Emulator.start(
                vertx,
                TestBed.fast()
                        .withSglang(settings -> settings.withSizes(TestBed.CAPACITY, TestBed.BLOCK, 1_024)
                                .withStreaming(true)))) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(finding(found, "streaming_session"))
                    .isEqualTo(Finding.note(
                            "streaming_session",
                            "The engine's streaming sessions lock what they found in the cache for 60 s at a time."
                                    + " auto never takes it: write backend: streaming_session."));
            assertThat(found.backend()).isEqualTo("keep_warm");
        }
    }

    @Test
    void stockSglang_withoutSessions_isToldTheFlag() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast())) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(finding(found, "session_hold"))
                    .isEqualTo(Finding.warning(
                            "session_hold",
                            "The engine does not keep what sessions refer to.",
                            "--enable-session-radix-cache"));
            assertThat(found.why())
                    .as("events come")
                    .endsWith("Automatic holds are on by default, since the engine can evict what is held:"
                            + " automaticHolds: false switches them off.");
            assertThat(finding(found, "replay").status()).isEqualTo(Status.WARNING);
            assertThat(finding(found, "replay").mend().orElse("")).contains("replay_endpoint");
            assertThat(found.backend()).isEqualTo("keep_warm");
            // Nobody sent anything, and the past cannot be asked for.
            assertThat(finding(found, "event format").status()).isEqualTo(Status.UNKNOWN);
            assertThat(found.inconclusive()).isTrue();
            assertThat(found.fails()).isFalse();
        }
    }

    @Test
    void sglangAsItComes_missesEventsAndMetricsWithTheirFlags() {
        try (BareSglang engine = new BareSglang()) {
            Diagnosis found =
                    Doctor.examine(EngineTarget.of(engine.uri()), Duration.ZERO, false, new SplittableRandom(1));

            assertThat(found.fails()).isTrue();
            assertThat(subjects(found, Status.MISSING)).containsExactly("metrics", "events");
            assertThat(finding(found, "metrics").mend()).contains("--enable-metrics");
            assertThat(finding(found, "events").text()).isEqualTo("The engine publishes no events.");
            assertThat(finding(found, "events").mend().orElse(""))
                    .startsWith("--kv-events-config '{\"publisher\":\"zmq\",");
            assertThat(finding(found, "cache report").mend()).contains("--enable-cache-report");
            assertThat(finding(found, "tokenizer").status()).isEqualTo(Status.WARNING);
            assertThat(found.backend()).isEqualTo("keep_warm");
            assertThat(found.why())
                    .contains("Automatic holds are on by default")
                    .endsWith(" But nothing is held automatically before the engine's events arrive, which show"
                            + " what requests share and lose.");
        }
    }

    @Test
    void engineThatAsksForAKey_isOneSentence() {
        try (BareSglang engine = new BareSglang(401)) {
            assertThatThrownBy(() -> Doctor.examine(
                            EngineTarget.of(engine.uri()), Duration.ZERO, false, new SplittableRandom(1)))
                    .isInstanceOf(SidecarException.class)
                    .hasMessage(engine.uri() + " asks for a key (HTTP 401): put its --api-key into an environment"
                            + " variable and name that with --api-key-env.");
        }
    }

    @Test
    void sglangWithAKey_isOneMissingRowAndOneMend() {
        try (Emulator engine = Emulator.start(
                vertx,
                TestBed.fast()
                        .withSglang(its -> its.withSessions(true))
                        .withFaults(List.of(new ServerFault.ApiKey("sk-1"))))) {
            Diagnosis found = examine(engine, true, target -> target);

            assertThat(finding(found, "key"))
                    .isEqualTo(Finding.missing(
                            "key",
                            "The engine asks for a key at /server_info and /v1/models (HTTP 401).",
                            "--api-key-env VARIABLE, which has it; in the sidecar's configuration"
                                    + " engines.ID.apiKeyEnv"));
            assertThat(subjects(found, Status.MISSING)).containsExactly("key");
            assertThat(found.findings())
                    // Other tests have segments on this machine, of which the doctor of a silent engine says what to
                    // do.
                    .filteredOn(
                            each -> each.mend().isPresent() && !each.subject().equals("kvcached"))
                    .extracting(Finding::subject)
                    .containsExactly("key");
            assertThat(subjects(found, Status.UNKNOWN))
                    .containsExactly(
                            "engine",
                            "model",
                            "context",
                            "cache",
                            "block size",
                            "events",
                            "tokenizer",
                            "cache report",
                            "session_hold",
                            "pin_blocks",
                            "priority_touch",
                            "streaming_session",
                            "keep_warm");
            assertThat(subjects(found, Status.OK)).containsExactly("metrics");
            assertThat(found.findings().toString()).doesNotContain("--kv-events-config", "--enable-cache-report");
        }
    }

    @Test
    void vllmWithAKey_isFollowedAndNothingCanBeAskedOfIt() {
        try (Emulator engine =
                Emulator.start(vertx, vllmSettings().withFaults(List.of(new ServerFault.ApiKey("sk-1"))))) {
            Diagnosis found = examine(engine, false, target -> target.withEvents(engine.eventsEndpoint()));

            assertThat(subjects(found, Status.MISSING)).containsExactly("key");
            assertThat(finding(found, "key").text()).isEqualTo("The engine asks for a key at /v1/models (HTTP 401).");
            assertThat(subjects(found, Status.UNKNOWN)).contains("model", "context", "keep_warm");
            assertThat(subjects(found, Status.OK)).contains("engine", "cache", "metrics", "events", "tokenizer");
            assertThat(found.findings())
                    .filteredOn(each -> each.text().contains("key"))
                    .as("said once")
                    .extracting(Finding::subject)
                    .containsExactly("key");
        }
    }

    @Test
    void keyThatIsNotTheEngines_isNamedByItsVariable() {
        try (Emulator engine =
                Emulator.start(vertx, TestBed.fast().withFaults(List.of(new ServerFault.ApiKey("sk-1"))))) {
            Diagnosis found = examine(engine, false, target -> withKey(target, "PATH"));

            assertThat(finding(found, "key"))
                    .isEqualTo(Finding.missing(
                            "key",
                            "The engine refuses the key in PATH at /server_info and /v1/models (HTTP 401).",
                            "put its --api-key into PATH"));
        }
    }

    @Test
    void twoRanks_noWayToHoldIsMissing() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast().withFaults(List.of(new ServerFault.DpRanks(2))))) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(finding(found, "a way to hold"))
                    .isEqualTo(Finding.missing(
                            "a way to hold",
                            "This engine has 2 caches (data-parallel ranks), and a request reaches one of them only.",
                            "one engine for each rank, each with a sidecar's engine of its own"));
            assertThat(subjects(found, Status.MISSING)).containsExactly("a way to hold");
            assertThat(finding(found, "ranks"))
                    .isEqualTo(Finding.note("ranks", "2, each a cache of its own; all are followed"));
            assertThat(found.findings().toString()).doesNotContain("can be held");
            assertThat(found.holds()).isFalse();
        }
    }

    @Test
    void twoRanksOfAPinBranch_areHeldOnAll() {
        try (Emulator engine = Emulator.start(
                vertx,
                TestBed.fast()
                        .withVariant(Variant.PIN_GPU)
                        .withContextTokens(1_024)
                        .withFaults(List.of(new ServerFault.DpRanks(2))))) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(found.fails()).isFalse();
            assertThat(found.backend()).isEqualTo("pin_blocks");
            assertThat(finding(found, "ranks"))
                    .isEqualTo(Finding.ok("ranks", "2, each a cache of its own; a pin reaches all of them"));
        }
    }

    @Test
    void replayThatIsMissing_isAddedToThePortThatTheEngineSays() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast())) {
            String port = engine.eventsEndpoint().replaceAll(".*:", "");

            Finding found = finding(examine(engine, false, target -> target), "replay");

            assertThat(found.mend())
                    .contains("--kv-events-config '{\"publisher\":\"zmq\",\"endpoint\":\"tcp://*:" + port
                            + "\",\"replay_endpoint\":\"tcp://*:" + (Integer.parseInt(port) + 13) + "\"}'");
        }
    }

    @Test
    void kvcachedThatNobodyNamed_isSeenOnThisHost() {
        String name = "holdfast-doctor-" + ProcessHandle.current().pid();
        EmulatorSettings settings = TestBed.fast();
        KvcachedSettings memory = KvcachedSettings.of(
                        KvcachedSettings.EngineTag.SGLANG,
                        settings.sglang().capacityTokens() / settings.sglang().pageTokens() + 1,
                        settings.sglang().pageTokens())
                .withIpcName(name);
        try (Emulator engine = Emulator.start(vertx, settings.withKvcached(memory))) {
            Finding found = finding(examine(engine, false, target -> target), "kvcached");

            assertThat(found.status()).isEqualTo(Status.WARNING);
            assertThat(found.text())
                    .contains(name)
                    .endsWith("no event of the engine came, as none does from one under it.");
            assertThat(found.mend()).isPresent();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0.5.16 | priority | Sessions of SGLang 0.5.16 protect nothing, since it only frees at their end what"
                        + " they used. | SGLang 0.5.17 or later",
                "0.5.17 | lru | The engine does not keep what sessions refer to. | SGLANG_ENABLE_UNIFIED_RADIX_TREE=1"
                        + " in its environment and --enable-session-radix-cache",
                "0.5.23 | lru | The engine does not keep what sessions refer to. | --enable-session-radix-cache",
                "0.6.0 | lru | The engine does not keep what sessions refer to. | --enable-session-radix-cache",
            })
    void sessions_areAskedForAsTheReleaseHasThem(String version, String policy, String text, String mend) {
        try (BareSglang engine = new BareSglang(version, policy)) {
            Diagnosis found =
                    Doctor.examine(EngineTarget.of(engine.uri()), Duration.ZERO, false, new SplittableRandom(1));

            assertThat(finding(found, "session_hold")).isEqualTo(Finding.warning("session_hold", text, mend));
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0.5.23 | SGLang 0.5.23",
                "0.5.24 | SGLang 0.5.24, not seen before: the newest that was looked at is 0.5.23",
                "0.5.14 | SGLang 0.5.14, not seen before: the oldest that was looked at is 0.5.15",
                "0.0.0.dev1 | SGLang 0.0.0.dev1, not seen before: the oldest that was looked at is 0.5.15",
                "main | SGLang main",
            })
    void release_isSaidToBeNewWhereNobodyLookedAtIt(String version, String text) {
        try (BareSglang engine = new BareSglang(version, "lru")) {
            Diagnosis found =
                    Doctor.examine(EngineTarget.of(engine.uri()), Duration.ZERO, false, new SplittableRandom(1));

            assertThat(finding(found, "engine")).isEqualTo(Finding.ok("engine", text));
        }
    }

    @Test
    void onlyLookedAt_theEngineServesNothing() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast());
                EngineClient client = new EngineClient(engine.uri())) {
            examine(engine, false, target -> target);

            assertThat(client.metric("sglang:time_to_first_token_seconds_count"))
                    .isNaN();
        }
    }

    @Test
    void pinBranch_isHeldByItsPins() {
        try (Emulator engine = Emulator.start(
                vertx, TestBed.fast().withVariant(Variant.PIN_GPU).withContextTokens(1_024))) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(finding(found, "pin_blocks").status()).isEqualTo(Status.OK);
            assertThat(found.backend()).isEqualTo("pin_blocks");
        }
    }

    @Test
    void pinBranch_withoutRoomForPins_isHeldOtherwise() {
        try (Emulator engine = Emulator.start(
                vertx, TestBed.fast().withVariant(Variant.PIN_GPU).withContextTokens(TestBed.CAPACITY))) {
            Diagnosis found = examine(engine, false, target -> target);

            assertThat(finding(found, "pin_blocks").text())
                    .isEqualTo("The engine can pin, and there is no room for pins beside its longest request (4,096"
                            + " tokens, in a cache of 4,096): start it with a smaller --context-length.");
            assertThat(found.backend()).isEqualTo("keep_warm");
        }
    }

    @Test
    void evictionByPriority_namesTheKeyThatIsMissing() {
        try (Emulator engine =
                Emulator.start(vertx, TestBed.fast().withSglang(sglang -> sglang.withEviction(Eviction.PRIORITY)))) {
            Finding found = finding(examine(engine, false, target -> target), "priority_touch");

            assertThat(found.status()).isEqualTo(Status.WARNING);
            assertThat(found.text())
                    .isEqualTo("The engine evicts by priority, and which priorities clients send is not known.");
            assertThat(found.mend())
                    .contains(
                            "clientPriorityMax in the sidecar's configuration: the highest priority that clients send,"
                                    + " 0 where they send none");
        }
    }

    @Test
    void pageOfOneToken_isWarnedAbout() {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast().withPageTokens(1))) {
            assertThat(finding(examine(engine, false, target -> target), "block size")
                            .mend())
                    .contains("--page-size 16");
        }
    }

    @Test
    void vllm_eventsAtAnotherPort_areMissingWithTheFlag() {
        try (Emulator engine = vllm()) {
            // The usual place may be taken by somebody else's engine on this machine.
            Diagnosis found = examine(engine, false, target -> target.withEvents("tcp://127.0.0.1:" + freePort()));

            assertThat(found.fails()).isTrue();
            assertThat(finding(found, "events").status()).isEqualTo(Status.MISSING);
            assertThat(finding(found, "events").mend().orElse(""))
                    .startsWith("--kv-events-config '{\"enable_kv_cache_events\":true,");
        }
    }

    @Test
    void vllm_itsEventsAndHashes_areFoundOut() {
        try (Emulator engine = vllm()) {
            Diagnosis found = examine(engine, true, target -> target.withEvents(engine.eventsEndpoint()));

            assertThat(found.fails()).isFalse();
            assertThat(finding(found, "event format").status()).isEqualTo(Status.OK);
            assertThat(finding(found, "block hashes").text()).startsWith("sha256 with the seed 'vllm-none-hash'");
            assertThat(SidecarConfig.parse(found.configuration(), "pasted")
                            .engines()
                            .getFirst()
                            .events())
                    .contains(engine.eventsEndpoint());
        }
    }

    @Test
    void kvcachedSegment_thatIsNotThere_isMissing() throws IOException {
        try (Emulator engine = Emulator.start(vertx, TestBed.fast())) {
            Diagnosis found = examine(engine, false, target -> withSegment(target, folder.resolve("none")));
            assertThat(finding(found, "kvcached").status()).isEqualTo(Status.MISSING);

            Path segment = Files.write(
                    folder.resolve("segment"),
                    new byte[] {0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
            found = examine(engine, false, target -> withSegment(target, segment));
            assertThat(finding(found, "kvcached"))
                    .isEqualTo(Finding.ok("kvcached", segment + ": limit 64 MiB, 16 MiB used; it may be moved"));
            assertThat(finding(found, "events").text()).startsWith("Under kvcached an engine publishes none:");
            assertThat(found.fails()).isFalse();
        }
    }

    @Test
    void nobodyThere_isOneSentence() {
        assertThatThrownBy(() -> Doctor.examine(
                        EngineTarget.of(URI.create("http://127.0.0.1:" + freePort())),
                        Duration.ZERO,
                        false,
                        new SplittableRandom(1)))
                .isInstanceOf(SidecarException.class)
                .hasMessageStartingWith("Nothing listens at http://127.0.0.1:")
                .hasMessageEndingWith(": start the engine, or write another --engine.");
    }

    @Test
    void whatIsNoEngine_isOneSentence() {
        try (TestBed bed = TestBed.pinning(folder)) {
            assertThatThrownBy(() -> Doctor.examine(
                            EngineTarget.of(bed.sidecar.uri()), Duration.ZERO, false, new SplittableRandom(1)))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageContaining("is neither SGLang nor vLLM nor TensorRT-LLM");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ftp://x|||--engine is 'ftp://x'; write the address of the engine's HTTP server",
                "http://h:1|tgi||--type is 'tgi'; write sglang, vllm or tensorrt_llm, or leave it out.",
                "http://h:1||tcp://*:5|--events is 'tcp://*:5'; write where the engine publishes KV events",
            })
    void badOption_isNamed(String url, String type, String events, String sentence) {
        EngineTarget target = new EngineTarget(
                url,
                Optional.ofNullable(type),
                Optional.ofNullable(events),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty());

        assertThatThrownBy(() -> Doctor.examine(target, Duration.ZERO, false, new SplittableRandom(1)))
                .isInstanceOf(ConfigException.class)
                .hasMessageStartingWith(sentence);
    }

    @Test
    void keyThatIsNotSet_isNamed() {
        EngineTarget target = new EngineTarget(
                "http://127.0.0.1:1",
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.of("HOLDFAST_TEST_NOT_SET"),
                Optional.empty());

        assertThatThrownBy(() -> Doctor.examine(target, Duration.ZERO, false, new SplittableRandom(1)))
                .hasMessageStartingWith(
                        "The environment variable HOLDFAST_TEST_NOT_SET, which --api-key-env names, is not set;");
    }

    private Emulator vllm() {
        return Emulator.start(vertx, vllmSettings());
    }

    private static EmulatorSettings vllmSettings() {
        return EmulatorSettings.defaults()
                .withKind(new EmulatorSettings.Kind.Vllm(VllmSettings.defaults()))
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(1);
    }

    private static EngineTarget withKey(EngineTarget target, String variable) {
        return new EngineTarget(
                target.url(),
                target.type(),
                target.events(),
                target.replay(),
                target.topic(),
                target.kvcachedSegment(),
                Optional.of(variable),
                Optional.empty());
    }

    private static Diagnosis examine(Emulator engine, boolean tries, UnaryOperator<EngineTarget> also) {
        return Doctor.examine(
                also.apply(EngineTarget.of(engine.uri())),
                tries ? Duration.ofSeconds(30) : Duration.ZERO,
                tries,
                new SplittableRandom(1));
    }

    private static EngineTarget withSegment(EngineTarget target, Path segment) {
        return new EngineTarget(
                target.url(),
                target.type(),
                target.events(),
                target.replay(),
                target.topic(),
                Optional.of(segment.toString()),
                target.apiKeyEnv(),
                Optional.empty());
    }

    private static Finding finding(Diagnosis found, String subject) {
        return found.findings().stream()
                .filter(each -> each.subject().equals(subject))
                .findFirst()
                .orElseThrow(() -> new AssertionError("Nothing about " + subject + " in " + found.findings()));
    }

    private static List<String> subjects(Diagnosis found, Status status) {
        return found.findings().stream()
                .filter(each -> each.status() == status)
                .map(Finding::subject)
                .toList();
    }

    private static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
