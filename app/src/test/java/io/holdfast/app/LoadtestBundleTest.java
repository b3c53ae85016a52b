package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.journal.Statistic;
import io.holdfast.loadtest.report.ShareText;
import io.holdfast.loadtest.sweep.SweepPlan;
import io.holdfast.loadtest.workload.FloodShape;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What is handed to somebody else, of one real run. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LoadtestBundleTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String SECRET = "not-for-strangers";

    /** Of which every machine has one; what is in it is sent as the key. */
    private static final String KEY_VARIABLE = "PATH";

    private final Vertx vertx = Vertx.vertx();

    private Path folder = Path.of("");
    private Path journal = Path.of("");

    @BeforeAll
    void run(@TempDir Path here) {
        folder = here;
        journal = folder.resolve("run.jsonl");
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun told = CommandRun.by(
                    "loadtest run --hold session --prefix-tokens 256 --suffix-tokens 32 --flood-requests 8"
                            .concat(" --flood-tokens 320 --cycles 1 --rounds 1 --anyway --repeat-pairs 50")
                            .concat(" --header X-Secret:" + SECRET + " --api-key-env " + KEY_VARIABLE)
                            .concat(" --engine " + emulator.uri() + " --journal " + journal)
                            .split(" ", -1));
            assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        }
    }

    @AfterAll
    void stop() {
        vertx.close().await();
    }

    @Test
    void bundle_isAnalyzedToTheSameBytes() throws IOException {
        Map<String, byte[]> entries = entries(bundle("one.zip"));

        CommandRun again = CommandRun.by("loadtest", "analyze", path("one.zip"), "--json");

        assertThat(again.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(again.out().getBytes(StandardCharsets.UTF_8)).isEqualTo(entries.get("result.json"));
        assertThat(CommandRun.by("loadtest", "analyze", journal.toString(), "--json")
                        .out())
                .isEqualTo(again.out());
        assertThat(entries.get("run.jsonl")).isEqualTo(Files.readAllBytes(journal));
        assertThat(CommandRun.by("loadtest", "analyze", path("one.zip")).out())
                .contains("VERDICT: INCONCLUSIVE(design)");
    }

    @Test
    void hardwareThatNobodyTold_isThatOfTheRecord() throws IOException {
        assertThat(text(entries(bundle("record.zip")), "ISSUE.md"))
                .contains(
                        "1. **Hardware.** Of the machine that asked: ",
                        "cores " + Runtime.getRuntime().availableProcessors())
                .doesNotContain("Not recorded");
    }

    @Test
    void bundle_hasTheFivePointsAndThePlan() throws IOException {
        Map<String, byte[]> entries = entries(bundle("points.zip", "--hardware", "1 x H100, 80 GB"));

        assertThat(entries)
                .containsOnlyKeys(
                        "run.jsonl",
                        "run.html",
                        "run.md",
                        "plan.json",
                        "environment.json",
                        "result.json",
                        "REPRODUCE.md",
                        "ISSUE.md");
        assertThat(text(entries, "ISSUE.md"))
                .startsWith("# INCONCLUSIVE(design)")
                .containsSubsequence(
                        "1. **Hardware.** 1 x H100, 80 GB",
                        "2. **Software.** Engine sglang",
                        "3. **Configuration.** Workload",
                        "4. **Raw data.** `run.jsonl` (",
                        "5. **How to run it again.**");
        assertThat(text(entries, "REPRODUCE.md"))
                .contains(
                        "holdfast loadtest analyze points.zip --json",
                        "holdfast loadtest ab",
                        "--hold session",
                        "--prefix-tokens 256",
                        "`--header` with a value for each of x-secret");
        JsonNode plan = JSON.readTree(entries.get("plan.json")).path("runs").path(0);
        assertThat(plan.path("plan").path("rounds")).hasSize(1);
        assertThat(plan.path("test").path("seed").isNumber()).isTrue();
        JsonNode environment = JSON.readTree(entries.get("environment.json"));
        assertThat(environment.path("hardware").asText()).isEqualTo("1 x H100, 80 GB");
        assertThat(environment
                        .path("runs")
                        .path(0)
                        .path("engine")
                        .path("family")
                        .asText())
                .isEqualTo("SGLANG");
    }

    @Test
    void commandThatIsPrinted_beginsTheSameRun() throws IOException {
        List<String> command = ShellWords.ofCommand(text(entries(bundle("again.zip")), "REPRODUCE.md"), "ab");

        List<String> planned = new ArrayList<>(command);
        planned.addAll(List.of("--plan", "--header", "X-Secret:1"));
        try (Emulator another = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            planned.set(planned.indexOf("--engine") + 1, another.uri().toString());
            CommandRun told = CommandRun.by(planned.toArray(String[]::new));
            assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.OK);
            assertThat(told.out()).contains("Load test at " + another.uri(), "Pinned legs: a session");
        }
        CommandRun report = CommandRun.by("loadtest", "report", journal.toString(), "--html", path("again.html"));
        assertThat(report.code()).as(report.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(ShellWords.ofCommand(
                        Files.readString(folder.resolve("again.html")).replaceAll("<[^>]*>", "\n"), "ab"))
                .isEqualTo(command);
    }

    /** What a journal keeps of every kind of run is words that the command line knows. */
    @Test
    void commandOfEveryKindOfRun_isOneThatIsUnderstood() throws IOException {
        RunHeader ab = Journal.read(journal).header();
        LoadTestPlan.Target its = ab.test().target().orElseThrow();
        FloodShape learning = its.shape().withLearning(2, 6);
        List<URI> none = List.of();
        List<URI> two = List.of(URI.create("http://127.0.0.1:2"), URI.create("http://127.0.0.1:3"));
        ArmPlan nothing = ArmPlan.none();
        ArmPlan session = new ArmPlan.ByEngine(ArmPlan.Means.SESSION);
        ArmPlan sidecar = new ArmPlan.Beside(URI.create("http://127.0.0.1:9"), "a", false);
        ArmPlan automatic = new ArmPlan.Beside(URI.create("http://127.0.0.1:9"), "a", true);
        Optional<Path> ca = Optional.of(Path.of("/a folder/ca.pem"));
        LoadTestPlan plain = ab.test().toBuilder()
                .repeatPairs(0)
                .target(target(its, none, its.shape(), "closed", nothing, Optional.empty(), Optional.empty()))
                .build();
        for (LoadTestPlan test : List.of(
                with(plain, target(its, none, its.shape(), "closed", new ArmPlan.KeepWarm(3), Optional.empty(), ca)),
                with(plain, target(its, none, its.shape(), "closed", sidecar, Optional.empty(), Optional.empty())),
                plain,
                with(plain, target(its, two, its.shape(), "closed", nothing, Optional.empty(), Optional.empty())),
                with(
                        plain,
                        target(
                                its,
                                none,
                                its.shape(),
                                "closed",
                                new ArmPlan.Commands(true),
                                Optional.empty(),
                                Optional.empty())),
                with(
                                plain,
                                target(
                                        its,
                                        none,
                                        its.shape(),
                                        "closed",
                                        new ArmPlan.AnotherServer(),
                                        Optional.empty(),
                                        Optional.empty()))
                        .toBuilder()
                        .freshLegs(true)
                        .mostTime(Duration.ofMinutes(90))
                        .build(),
                with(plain, target(its, none, learning, "poisson:20", automatic, Optional.empty(), Optional.empty())),
                with(plain, target(its, none, its.shape(), "closed", session, Optional.empty(), Optional.empty()))
                        .toBuilder()
                        .freshLegs(true)
                        .profiler(Optional.of("nsys profile -o 'a b'"))
                        .build(),
                with(plain, target(its, none, its.shape(), "closed", nothing, Optional.of("/reset"), Optional.empty()))
                        .toBuilder()
                        .alsoJudged(List.of(Statistic.PROBE_MEAN, Statistic.WHOLE_MEAN))
                        .build())) {
            for (Design design : Design.values()) {
                // An A/A has no arm, and is at one server.
                if (design != Design.CONTROLS || test.equals(plain)) {
                    parse(reproduced(ab, design, test), design == Design.CONTROLS ? "aa" : "ab");
                }
            }
        }
    }

    private static LoadTestPlan with(LoadTestPlan test, LoadTestPlan.Target target) {
        return test.toBuilder().target(target).build();
    }

    private static LoadTestPlan.Target target(
            LoadTestPlan.Target like,
            List<URI> engines,
            FloodShape shape,
            String arrivals,
            ArmPlan arm,
            Optional<String> flushPath,
            Optional<Path> ca) {
        return new LoadTestPlan.Target(like.server(), engines, shape, arrivals, arm, flushPath, ca);
    }

    private static void parse(String text, String command) throws IOException {
        List<String> words = ShellWords.ofCommand(text, command);
        assertThat(words).noneMatch(word -> word.startsWith("--environment"));
        Holdfast.commandLine(CommandLine.defaultFactory()).parseArgs(words.toArray(String[]::new));
    }

    private static String reproduced(RunHeader header, Design design, LoadTestPlan test) {
        RunHeader its = header.of(
                        CrossoverPlan.draw(design, design == Design.BLOCKS ? 4 : 2, new SplittableRandom(1)), true)
                .with(test.toBuilder().slotAdapts(design == Design.CROSSOVER).build());
        return new ShareText(its, "nothing", Optional.empty(), List.of()).reproduce("x.zip");
    }

    @Test
    void environment_isWrittenWhole() throws IOException {
        JsonNode run = JSON.readTree(entries(bundle("bed.zip")).get("environment.json"))
                .path("runs")
                .path(0);

        assertThat(run.path("environment").properties())
                .extracting(Map.Entry::getKey)
                .contains("cores", "memory", "processor", "gpu", "driver", "torch", "vllm", "java");
        assertThat(run.path("environment").path("cores").asText())
                .isEqualTo(Integer.toString(Runtime.getRuntime().availableProcessors()));
        assertThat(text(entries(bundle("five.zip")), "ISSUE.md"))
                .contains(
                        "1. **Hardware.** Of the machine that asked: ",
                        "cores " + Runtime.getRuntime().availableProcessors());
    }

    @Test
    void sameRun_isTheSameBundle() throws IOException {
        assertThat(Files.readAllBytes(bundle("first/run.zip"))).isEqualTo(Files.readAllBytes(bundle("second/run.zip")));
    }

    @Test
    void keysAndHeaders_areInNoFileOfTheBundle() throws IOException {
        String key = System.getenv(KEY_VARIABLE);
        assertThat(key).isNotBlank();

        entries(bundle("secret.zip"))
                .forEach((name, bytes) -> assertThat(new String(bytes, StandardCharsets.UTF_8))
                        .as(name)
                        .doesNotContain(SECRET, key));
    }

    @Test
    void folderOfRuns_isBundledAndAnalyzedAsOne() throws IOException {
        Path runs = Files.createDirectory(folder.resolve("runs"));
        Files.copy(journal, runs.resolve("a.jsonl"));
        Files.copy(journal, runs.resolve("b.jsonl"));
        Files.writeString(runs.resolve("notes.txt"), SECRET);
        Path out = folder.resolve("runs.zip");

        CommandRun told = CommandRun.by("loadtest", "bundle", runs.toString(), "--out", out.toString());

        assertThat(told.out()).isEqualTo("Written: " + out + System.lineSeparator());
        Map<String, byte[]> entries = entries(out);
        assertThat(entries).containsKeys("a.jsonl", "b.jsonl").doesNotContainKey("notes.txt");
        assertThat(CommandRun.by("loadtest", "analyze", out.toString(), "--json")
                        .out())
                .isEqualTo(text(entries, "result.json"));
        assertThat(CommandRun.by("loadtest", "analyze", runs.toString()).out().lines())
                .hasSize(2)
                .allMatch(line -> line.contains(": INCONCLUSIVE(design)"));
    }

    @Test
    void sweep_isBundledAnalyzedAndShownAsTheWholeThatItIs() throws IOException {
        Path levels = folder.resolve("sweep");
        new SweepPlan(
                        "2026-01-01T00:00:00Z",
                        SweepPlan.levels(Map.of("capacity", List.of("2048", "4096")), Optional.empty()),
                        Map.of())
                .write(levels);
        for (SweepPlan.Level level : SweepPlan.read(levels).levels()) {
            Files.copy(journal, levels.resolve(level.journal()));
        }
        Path out = folder.resolve("sweep.zip");

        assertThat(CommandRun.by("loadtest", "bundle", levels.toString(), "--out", out.toString())
                        .code())
                .isEqualTo(ExitCode.OK);

        Map<String, byte[]> entries = entries(out);
        assertThat(entries).containsKeys("sweep.json", "sweep.html", "01-capacity-2048.jsonl");
        assertThat(CommandRun.by("loadtest", "analyze", out.toString(), "--json")
                        .out())
                .isEqualTo(text(entries, "result.json"))
                .contains("\"levels\"");
        assertThat(CommandRun.by("loadtest", "analyze", levels.toString()).out())
                .contains("Sweep, 2 of 2 levels");
        assertThat(CommandRun.by("loadtest", "report", levels.toString()).out())
                .isEqualTo("Written: " + levels.resolve("sweep.html") + System.lineSeparator());
        assertThat(levels.resolve("sweep.html"))
                .content()
                .contains("This sweep cannot tell.", "--over capacity=2048,4096", "holdfast loadtest sweep");
        parse(Files.readString(levels.resolve("sweep.html")).replaceAll("<[^>]*>", "\n"), "sweep");
        assertThat(CommandRun.by("loadtest", "report", levels.toString(), "--csv", path("x.csv"))
                        .badInput())
                .contains("is the folder of a sweep, of which there is a page alone");
    }

    @Test
    void summaryThatWasLost_comesBackFromTheRawData() throws IOException {
        Path summary = folder.resolve("summary.json");
        String[] analyze = {"loadtest", "analyze", journal.toString(), "--out", summary.toString()};
        CommandRun.by(analyze);
        byte[] before = Files.readAllBytes(summary);
        Files.delete(summary);

        CommandRun.by(analyze);

        assertThat(Files.readAllBytes(summary)).isEqualTo(before);
    }

    @Test
    void damagedRawData_isNamedAndSummedUpNowhere() throws IOException {
        List<String> lines = Files.readAllLines(journal);
        Path broken = folder.resolve("broken.jsonl");
        Path summary = folder.resolve("broken.json");
        String[] analyze = {"loadtest", "analyze", broken.toString(), "--out", summary.toString()};

        Files.write(
                broken,
                lines.stream()
                        .map(line -> line.replace("\"firstToken\"", "\"firstTokn\""))
                        .toList());
        assertThat(CommandRun.by(analyze).badInput())
                .contains("Line 2 of the journal")
                .contains("firstTok");
        Files.write(
                broken,
                lines.stream()
                        .map(line -> line.replaceAll("\"firstToken\":\\d+", "\"firstToken\":null"))
                        .toList());
        assertThat(CommandRun.by(analyze).badInput()).contains("counts has a PROBE_P50");
        assertThat(summary).doesNotExist();
    }

    @Test
    void wrongNames_areOneSentence() throws IOException {
        Path nothing = Files.createDirectory(folder.resolve("nothing"));
        Path text = Files.writeString(folder.resolve("text.zip"), "no zip");
        String out = path("never.zip");

        assertThat(CommandRun.by("loadtest", "bundle", nothing.toString(), "--out", out)
                        .badInput())
                .contains("holds no journal (*.jsonl) of a load test");
        assertThat(CommandRun.by("loadtest", "bundle", path("no.jsonl"), "--out", out)
                        .badInput())
                .contains("There is no journal at");
        assertThat(CommandRun.by("loadtest", "bundle", journal.toString(), "--out", path("x.tar"))
                        .badInput())
                .contains("name a file that ends with .zip");
        assertThat(CommandRun.by("loadtest", "bundle", journal.toString(), "--out", text.toString())
                        .badInput())
                .contains("is there already");
        assertThat(CommandRun.by("loadtest", "analyze", text.toString()).badInput())
                .contains("is no zip file that can be read");
        assertThat(CommandRun.by("loadtest", "analyze", path("absent.zip")).badInput())
                .contains("There is no bundle at");
    }

    private String path(String name) {
        return folder.resolve(name).toString();
    }

    private Path bundle(String name, String... options) throws IOException {
        Path out = folder.resolve(name);
        Files.createDirectories(out.getParent());
        String[] command = Stream.concat(
                        Stream.of("loadtest", "bundle", journal.toString(), "--out", out.toString()),
                        Stream.of(options))
                .toArray(String[]::new);
        CommandRun told = CommandRun.by(command);
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.OK);
        return out;
    }

    private static Map<String, byte[]> entries(Path file) throws IOException {
        Map<String, byte[]> entries = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(file.toFile())) {
            for (ZipEntry entry : zip.stream().toList()) {
                entries.put(entry.getName(), zip.getInputStream(entry).readAllBytes());
            }
        }
        return entries;
    }

    private static String text(Map<String, byte[]> entries, String name) {
        return new String(entries.getOrDefault(name, new byte[0]), StandardCharsets.UTF_8);
    }
}
