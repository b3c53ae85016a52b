package io.holdfast.app.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.CommandRun;
import io.holdfast.app.cli.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ReplayCommandTest {
    private static final int REQUESTS = 1_000;
    private static final String TRACE = trace();

    @TempDir
    Path folder;

    private Path trace;

    @BeforeEach
    void writeTrace() throws IOException {
        trace = Files.writeString(folder.resolve("trace.jsonl"), TRACE);
    }

    /** Returns conversations that go on after a minute, between prompts that come once. */
    private static String trace() {
        SplittableRandom random = new SplittableRandom(1);
        StringBuilder lines = new StringBuilder();
        int fresh = 100_000;
        for (int request = 0; request < REQUESTS; request++) {
            int first = random.nextInt(3) == 0 ? random.nextInt(40) * 100 : fresh;
            fresh += first == fresh ? 100 : 0;
            StringBuilder path = new StringBuilder().append(first);
            for (int depth = 1; depth < 12; depth++) {
                path.append(", ").append(first + depth);
            }
            // The last block is always new, or a request that finds everything would not be seen.
            lines.append(String.format(
                    Locale.ROOT,
                    "{\"timestamp\": %d, \"input_length\": 6200, \"output_length\": 10, \"hash_ids\": [%s, %d]}%n",
                    request * 500,
                    path,
                    1_000_000 + request));
        }
        return lines.toString();
    }

    @Test
    void pinsBesidePressure_gainAndAreLicensed() throws IOException {
        JsonNode told = json("--capacity-blocks", "600", "--json");
        assertThat(told).hasSize(1);
        JsonNode line = told.get(0);
        assertThat(line.path("capacity").asInt()).isEqualTo(600);
        assertThat(line.path("gainPoints").asDouble()).isGreaterThan(2);
        assertThat(line.path("gapShare").asDouble()).isBetween(0.05, 1.0);
        assertThat(line.path("hits").asLong())
                .isBetween(
                        line.path("lruHits").asLong(), line.path("optimumHits").asLong());
        assertThat(line.path("pinOperations").asLong()).isPositive();
        assertThat(line.path("licensedShare").asDouble()).isBetween(0.5, 1.0);
    }

    /** In an engine's blocks of 16 tokens, of which a prompt of 6,200 has 387. */
    @ParameterizedTest
    @CsvSource({"engine-like, pin", "sglang, session", "vllm, pin"})
    void engineLike_gainsAsWell_atASidecarsPaceToo(String emit, String backend) throws IOException {
        JsonNode free =
                json("--capacity-blocks", "19200", "--emit", emit, "--json").get(0);
        assertThat(free.path("references").asLong()).isEqualTo(REQUESTS * 387L);
        assertThat(free.path("gainPoints").asDouble()).isGreaterThan(2);
        JsonNode paced = json("--capacity-blocks", "19200", "--emit", emit, "--backend", backend, "--held", "--json")
                .get(0);
        assertThat(paced.path("gainPoints").asDouble()).isGreaterThan(1);
        assertThat(paced.path("holdOperations").asLong()).isBetween(1L, (long) REQUESTS);
    }

    /** Beside the engine's rules, at a sidecar's pace. */
    @ParameterizedTest
    @CsvSource({"pin", "session"})
    void byTheEnginesRules_toldInTheSameFieldsAndTwoMore(String backend) throws IOException {
        JsonNode held = json(
                        "--thin",
                        "0.4",
                        "--capacity-blocks",
                        "9600",
                        "--rules",
                        "sglang",
                        "--backend",
                        backend,
                        "--json")
                .get(0);
        assertThat(held.path("references").asLong() % 387).isZero();
        assertThat(held.path("hits").asLong())
                .isBetween(1L, held.path("optimumHits").asLong());
        assertThat(held.path("holdOperations").asLong(-1)).isBetween(0L, (long) REQUESTS);
        assertThat(held.path("refusedRequests").asInt(-1)).isZero();
        assertThat(held.path("refusedHolds").asInt(-1)).isNotNegative();
    }

    @Test
    void byVllmsRules_lruAlone_andRequestsThatNeverFitAreTold() throws IOException {
        JsonNode lru = json(
                        "--thin", "0.4", "--capacity-blocks", "9600", "--rules", "vllm", "--policy", "lru", "--json")
                .get(0);
        assertThat(lru.path("hits").asLong())
                .isPositive()
                .isEqualTo(lru.path("lruHits").asLong());
        assertThat(lru.has("holdOperations")).isFalse();
        assertThat(CommandRun.by(
                                "replay",
                                "--trace",
                                trace.toString(),
                                "--thin",
                                "0.9",
                                "--rules",
                                "vllm",
                                "--policy",
                                "lru",
                                "--capacity-blocks",
                                "300")
                        .out())
                .contains("The smallest cache has no room for ");
    }

    /** In an engine's blocks as well. */
    @ParameterizedTest
    @CsvSource({"slru, false", "lfu, false", "freq, true"})
    void engineLike_takesEachPolicy(String policy, boolean holds) throws IOException {
        JsonNode told = json(
                        "--thin", "0.1", "--capacity-blocks", "9600", "--emit", "sglang", "--policy", policy, "--json")
                .get(0);
        assertThat(told.path("hits").asLong())
                .isBetween(1L, told.path("optimumHits").asLong())
                .isNotEqualTo(told.path("lruHits").asLong());
        assertThat(told.path("pinOperations").asLong() > 0).isEqualTo(holds);
        assertThat(told.has("holdOperations")).isEqualTo(holds);
    }

    @Test
    void capacities_areInTheOrderGiven_andComeOutTheSame() throws IOException {
        JsonNode told = json("--capacity-blocks", "900,300", "--json");
        assertThat(told.findValues("capacity").toString()).isEqualTo("[900, 300]");
        assertThat(json("--capacity-blocks", "900,300", "--json")).isEqualTo(told);
    }

    @Test
    void table_hasALineForEachCapacity() {
        CommandRun told =
                CommandRun.by("replay", "--trace", trace.toString(), "--capacity-share", "0.02,0.2", "--policy", "lru");
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(told.out())
                .contains("trace.jsonl: 1,000 requests, 13,000 blocks of 512 tokens")
                .containsPattern("(?m)^ +\\d+ +\\d+\\.\\d % +\\d+\\.\\d % +\\d+\\.\\d % +\\+0\\.00 points");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--capacity-blocks 0|--capacity-blocks is at least 1, not 0.",
                "--capacity-share 1.5|--capacity-share is a share above 0 and up to 1, not 1.5.",
                "--hints 2|--hints is a probability between 0 and 1, not 2.0.",
                "--thin -1|--thin is a probability between 0 and 1, not -1.0.",
                "--block-tokens 0|--block-tokens is at least 1, not 0.",
                "--block-tokens 16|leave the blocks' size out",
                "--format csv|is no header 'time,prefix,tokens'",
                "--policy mru|'MRU'",
                "--emit loud|expected one of [plain, engine-like, sglang, vllm] but was 'loud'",
                "--backend pin|--backend says how fast holds begin, which is seen with --emit engine-like or --rules"
                        + " sglang only",
                "--without requests|--without requests takes each announcement for a request",
                "--without shadow,gate|--without shadow is another licence to pin, and --without gate is none",
                "--emit vllm --backend keep-warm|expected one of [PIN, SESSION]",
                "--rules vllm|vLLM has neither pins nor sessions, so by --rules vllm nothing can be held; write"
                        + " --policy lru",
                "--rules vllm --policy lru --backend pin|vLLM has neither pins nor sessions",
                "--rules sglang --policy slru|--policy slru replaces the engine's eviction, and --rules sglang keeps"
                        + " it",
                "--rules sglang --policy optimum|write --policy lru, holdfast or freq, or --rules plain",
                "--rules sglang --touches full|--touches full shows requests that no event tells of",
                "--rules sglang --without requests|--without requests takes each announcement for a request",
                "--rules sglang --emit vllm|--rules sglang announces what it does as sglang does, not as --emit vllm"
                        + " says",
                "--rules sglang --policy lru --capacity-blocks 2|and 2 blocks of 16 tokens are not that",
                "--rules trtllm|'trtllm'"
            })
    void badOption_isOneSentence(String options, String why) {
        String[] words = ("replay --trace " + trace + " " + options).split(" ", -1);
        assertThat(CommandRun.by(words).badInput()).containsIgnoringCase(why);
    }

    @Test
    void brokenTrace_printsNothingElse() throws IOException {
        Files.writeString(trace, "{\"timestamp\": 1, \"inp");
        CommandRun told = CommandRun.by("replay", "--trace", trace.toString());
        assertThat(told.badInput()).startsWith("holdfast: Line 1 of the trace ").contains("no whole JSON object");
        assertThat(told.out()).isEmpty();
    }

    @Test
    void csv_isKnownByItsHeader() throws IOException {
        Files.writeString(trace, "time,prefix,tokens\n0,system/one,64/10\n2,system/two,64/20\n");
        JsonNode told = json("--policy", "lru", "--capacity-blocks", "100", "--block-tokens", "32", "--json");
        assertThat(told.get(0).path("references").asLong()).isEqualTo(6);
        assertThat(told.get(0).path("hits").asLong()).isEqualTo(2);
    }

    @Test
    void brokenCsv_printsNothingElse() throws IOException {
        Files.writeString(trace, "time,prefix,tokens\n0,system/one,64/10\n2,system/two\n");
        assertThat(CommandRun.by("replay", "--trace", trace.toString()).badInput())
                .startsWith("holdfast: Line 3 of the trace ")
                .endsWith(" has 2 fields, where the header has 3.");
    }

    @Test
    void plot_hasACurveForEachPolicy() throws IOException {
        Path picture = folder.resolve("plot.svg");
        json("--capacity-blocks", "600,300", "--policy", "slru", "--plot", picture.toString(), "--json");
        assertThat(Files.readString(picture))
                .contains("trace.jsonl", ">LRU ", ">slru ", ">optimum ", ", 300 blocks: ", ", 600 blocks: ");
        json("--capacity-blocks", "600", "--policy", "lru", "--plot", picture.toString(), "--json");
        assertThat(Files.readString(picture)).contains(">LRU ", ">optimum ").doesNotContain(">lru ", "300 blocks");
    }

    @Test
    void plotThatCannotBe_isSaidBeforeAnythingElse() {
        assertThat(CommandRun.by("replay", "--trace", trace.toString(), "--plot", folder + "/absent/plot.svg")
                        .badInput())
                .endsWith("absent, which is no directory.");
        assertThat(CommandRun.by("replay", "--trace", trace.toString(), "--plot", folder.toString())
                        .badInput())
                .endsWith("is a directory; name a file in it.");
    }

    private JsonNode json(String... options) throws IOException {
        String[] words = new String[options.length + 3];
        words[0] = "replay";
        words[1] = "--trace";
        words[2] = trace.toString();
        System.arraycopy(options, 0, words, 3, options.length);
        CommandRun told = CommandRun.by(words);
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.OK);
        return new ObjectMapper().readTree(told.out());
    }
}
