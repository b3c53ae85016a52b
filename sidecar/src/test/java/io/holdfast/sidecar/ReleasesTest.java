package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.backend.PrefixSender;
import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import io.holdfast.core.requests.EventFollower;
import io.holdfast.core.requests.RequestRules;
import io.holdfast.core.requests.VisibleRequest;
import io.holdfast.events.KvEventDecoder;
import io.holdfast.http.EngineVersion;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.engine.EngineContact;
import io.holdfast.sidecar.engine.EngineFamily;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.look.Diagnosis;
import io.holdfast.sidecar.look.Doctor;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What the releases that were run say, and which the page on backends has. */
class ReleasesTest {
    private static final Pattern RELEASE = Pattern.compile("\\d+\\.\\d+(?:\\.\\d+)?");

    @ParameterizedTest
    @CsvSource({
        "sglang-0.5.17, SGLang 0.5.17, session_hold",
        "sglang-0.5.23, SGLang 0.5.23, session_hold",
        "vllm-0.22.1, vLLM 0.22.1, keep_warm",
        "vllm-0.32.0, vLLM 0.32.0, keep_warm",
    })
    void release_isUnderstood(String name, String said, String backend) {
        try (CapturedRelease release = new CapturedRelease(name)) {
            Diagnosis found = Doctor.examine(target(release, name), Duration.ZERO, false, new SplittableRandom(1));

            assertThat(found.fails() || found.inconclusive())
                    .as(found.findings().toString())
                    .isFalse();
            assertThat(finding(found, "engine").text()).startsWith(said).doesNotContain("not seen");
            assertThat(finding(found, "replay")).isEqualTo(Finding.ok("replay", "answered at " + release.replay()));
            assertThat(finding(found, "block hashes").status()).isEqualTo(Status.OK);
            assertThat(finding(found, "tokenizer").status()).isEqualTo(Status.OK);
            assertThat(finding(found, "metrics").status()).isEqualTo(Status.OK);
            assertThat(found.backend()).isEqualTo(backend);
        }
    }

    /** What an engine found of a prompt tells a touch that came too late from one in time. */
    @ParameterizedTest
    @CsvSource({"sglang-0.5.17", "sglang-0.5.23", "vllm-0.22.1", "vllm-0.32.0"})
    void release_tellsWhatItFoundOfAPrompt(String name) {
        try (CapturedRelease release = new CapturedRelease(name);
                EngineContact contact = EngineContact.open(target(release, name))) {
            PrefixSender sender = EngineFamily.of(contact.config().type())
                    .sender(contact.http())
                    .orElseThrow();

            assertThat(found(sender)).hasValue(192);
            release.forgets();
            assertThat(found(sender)).hasValue(0);
        }
    }

    /**
     * Both were sent the same requests: one while it started, one of 200 tokens and four that were equal to it, and one of 391
     * twice. Whoever found all of its blocks stored none.
     */
    @ParameterizedTest
    @CsvSource({"sglang-0.5.17", "sglang-0.5.23"})
    void release_showsTheRequestsThatStoredAnything(String name) {
        List<Integer> stored = new ArrayList<>();
        EventFollower follower = new EventFollower(RequestRules.sglang(), new EventFollower.Listener() {
            @Override
            public void completed(VisibleRequest request) {
                stored.add(request.newBlocks());
            }
        });
        KvEventDecoder decoder = new KvEventDecoder();
        try (CapturedRelease release = new CapturedRelease(name)) {
            List<byte[]> batches = release.batches();
            for (int i = 0; i < batches.size(); i++) {
                assertThat(decoder.decode(batches.get(i), i, follower))
                        .as(decoder.refusal())
                        .isTrue();
            }
        }
        follower.requests().flush();

        assertThat(stored).containsExactly(1, 12, 24);
    }

    /** So that nobody is told of a release that the page does not have. */
    @ParameterizedTest
    @EnumSource(EngineType.class)
    void releasesOfThePage_areThoseThatDoctorKnows(EngineType type) throws IOException {
        String family = switch (type) {
            case SGLANG -> "| SGLang |";
            case VLLM -> "| vLLM |";
            case TENSORRT_LLM -> "| TensorRT-LLM |";
        };
        Comparator<EngineVersion> byAge = (one, other) -> one.isBefore(other) ? -1 : other.isBefore(one) ? 1 : 0;
        List<EngineVersion> onThePage = Files.readString(Path.of("..", "docs", "backends.md"))
                .lines()
                .filter(line -> line.startsWith(family))
                .flatMap(line -> RELEASE.matcher(line.split("\\|", -1)[2]).results())
                .flatMap(release -> EngineVersion.parse(release.group()).stream())
                .sorted(byAge)
                .toList();

        assertThat(new EngineFamily.Seen(onThePage.getFirst(), onThePage.getLast()))
                .isEqualTo(EngineFamily.of(type).seen());
    }

    private static EngineTarget target(CapturedRelease release, String name) {
        EngineTarget said = EngineTarget.of(release.uri());
        return name.startsWith("vllm")
                ? new EngineTarget(
                        said.url(),
                        said.type(),
                        Optional.of(release.events()),
                        Optional.of(release.replay()),
                        said.topic(),
                        said.kvcachedSegment(),
                        said.apiKeyEnv(),
                        Optional.empty())
                : said;
    }

    private static OptionalLong found(PrefixSender sender) {
        return sender.send(new int[] {1, 2, 3}).toCompletableFuture().join().cachedTokens();
    }

    private static Finding finding(Diagnosis found, String subject) {
        return found.findings().stream()
                .filter(each -> each.subject().equals(subject))
                .findFirst()
                .orElseThrow(() -> new AssertionError("Nothing about " + subject + " in " + found.findings()));
    }
}
