package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.AbOptions;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code loadtest review} and {@code loadtest log} as people call them. */
class LoadtestTablesTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Pattern WORD = Pattern.compile("'([^']*)'|(\\S+)");
    private static final String SWEEP = """
        # Memory sweep

        concurrency: 32, requests: 128, shared tokens: 248, unique tokens: 200

        | memory fraction | capacity | TTFT avg (ms) BL -> PIN |
        |---|---|---|
        | 0.05 | 13K | 67.09 -> 52.07 (-22.4 %) |
        | 0.08 | 22K | 69.89 -> 55.65 (-20.4 %) |
        | 0.40 | 108K | 72.23 -> 54.46 (-24.6 %) |
        """;

    @TempDir
    private Path folder = Path.of("");

    private Path table = Path.of("");

    @BeforeEach
    void write() throws IOException {
        table = Files.writeString(folder.resolve("sweep.md"), SWEEP);
    }

    @Test
    void review_saysFirstThatATableAloneDecidesNothing() {
        CommandRun told = CommandRun.by("loadtest", "review", table.toString());
        assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(told.err()).isEmpty();
        assertThat(told.out().lines().limit(3)).anyMatch("  VERDICT: INCONCLUSIVE(design)"::equals);
        assertThat(told.out())
                .contains("memory fraction 0.05       TTFT mean          67.09 -> 52.07 (-22.4 %)")
                .contains("! placebo")
                .contains("Suspect")
                .contains("holdfast loadtest run --engine http://127.0.0.1:30000 --hold session")
                .contains("holdfast loadtest preset pin-poc --engine http://127.0.0.1:30000")
                .doesNotContain("REAL");
        assertThat(told.out().lines()).allMatch(line -> line.length() <= 80);
    }

    @Test
    void reviewAsJson_isOneDocumentWithTheSame() throws IOException {
        Path claims = Files.writeString(
                folder.resolve("claims.md"), "| claim | status | evidence |\n|---|---|---|\n| x | Invalid | y; z |\n");
        Path criteria = Files.writeString(
                folder.resolve("criteria.md"), "| criterion | state | evidence |\n|---|---|---|\n| a | met | b |\n");
        CommandRun told = CommandRun.by(
                "loadtest",
                "review",
                table.toString(),
                "--json",
                "--said-bias",
                "15,20",
                "--claims",
                claims.toString(),
                "--criteria",
                criteria.toString());
        JsonNode document = JSON.readTree(told.out());
        assertThat(document.path("format").asInt()).isEqualTo(1);
        assertThat(document.path("verdict").path("headline").asText()).isEqualTo("INCONCLUSIVE(design)");
        assertThat(document.path("tables").path(0).path("verdicts")).hasSize(3);
        assertThat(document.path("tables")
                        .path(0)
                        .path("changes")
                        .path(0)
                        .path("metrics")
                        .path("TTFT mean")
                        .asText())
                .isEqualTo("67.09 -> 52.07 (-22.4 %)");
        assertThat(StreamSupport.stream(
                                document.path("tables").path(0).path("remarks").spliterator(), false)
                        .map(remark -> remark.path("topic").asText()))
                .contains("order", "placebo", "effect over levels", "order bias");
        assertThat(document.path("claims").path(0).path("evidence").path(1).asText())
                .isEqualTo("z");
        assertThat(document.path("criteria").path(0).path("state").asText()).isEqualTo("met");
        assertThat(document.path("foundClaims").path(0).path("status").asText()).isEqualTo("Suspect");
    }

    @Test
    void planOfTheRerun_isAScriptOfCommandsThatThereAre() throws IOException {
        Path plan = folder.resolve("rerun.sh");
        CommandRun.by("loadtest", "review", table.toString(), "--plan-out", plan.toString(), "--url", "http://h:1");
        List<String> commands = Files.readAllLines(plan).stream()
                .filter(line -> line.startsWith("holdfast "))
                .toList();
        assertThat(commands).hasSizeGreaterThanOrEqualTo(5);
        for (String command : commands) {
            List<String> words = new ArrayList<>();
            Matcher matcher = WORD.matcher(command);
            while (matcher.find()) {
                words.add(matcher.group(1) != null ? matcher.group(1) : matcher.group(2));
            }
            // An option that is not there, or a value that cannot be read, is an exception.
            CommandLine.ParseResult parsed = Holdfast.commandLine(CommandLine.defaultFactory())
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .parseArgs(words.subList(1, words.size()).toArray(String[]::new));
            CommandLine.ParseResult load = parsed.subcommand().subcommand();
            assertThat(load.commandSpec().name()).isIn("aa", "ab", "preset");
            if (!load.commandSpec().name().equals("preset")) {
                assertThat(load.matchedOptionValue("--concurrency", 1))
                        .as("no more can be under way than a flood has in %s", command)
                        .isLessThanOrEqualTo(load.matchedOptionValue("--flood-requests", 0));
            }
            if (load.hasMatchedOption("--server-command")) {
                assertThat(load.matchedOptionValue("--server-command", "")).contains("--enable-session-radix-cache");
            }
        }
        assertThat(commands).first().asString().contains("preset pin-poc", "--requests 128", "--pairs 5");
        assertThat(CommandRun.by("loadtest", "review", table.toString(), "--plan-out", plan.toString())
                        .badInput())
                .contains("which is there already; name another file");
    }

    @Test
    void demandThatNobodyTold_isAskedFor() throws IOException {
        Files.writeString(table, SWEEP.replace(", shared tokens: 248, unique tokens: 200", ""));
        assertThat(CommandRun.by("loadtest", "review", table.toString()).out().replaceAll("\\s+", " "))
                .contains("give them by --shared-tokens and --own-tokens");
        assertThat(CommandRun.by(
                                "loadtest", "review", table.toString(), "--shared-tokens", "248", "--own-tokens", "200")
                        .out())
                .contains("6,648 tokens");
        assertThat(CommandRun.by("loadtest", "review", table.toString(), "--own-tokens", "0")
                        .badInput())
                .contains("--own-tokens is 0; write 1 or more");
    }

    @Test
    void legsThatFailed_failTheReview() throws IOException {
        Files.writeString(
                table,
                "# legs\n\nplanned: 3\n\n| leg | status |\n|---|---|\n| a/b/pass1 | OK |\n| a/c/pass1 | FAIL |\n");
        CommandRun told = CommandRun.by("loadtest", "review", table.toString());
        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out()).contains("PARTIAL: 2 legs of 3 planned (66.7 %): 1 FAIL, 1 OK.", "a/c: 1/1 failed;");
    }

    @Test
    void resultsWithoutArms_areNoVerdict() throws IOException {
        Files.writeString(
                table, "| batch | throughput (tok/s) |\n|---|---|\n| 8 | 300 |\n| 16 | 310 |\n| 24 | 100 |\n");
        CommandRun told = CommandRun.by("loadtest", "review", table.toString());
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(told.out())
                .doesNotContain("VERDICT")
                .satisfies(text -> assertThat(text.replaceAll("\\s+", " "))
                        .contains(
                                "From batch 16 to batch 24 the server falls off a cliff",
                                "stay at batch 8 (300.0 tok/s)"));
    }

    @Test
    void tableWithoutUnitsOrWithAnUnknownColumn_isOneSentence() throws IOException {
        Files.writeString(table, "| concurrency | TTFT p50 |\n|---|---|\n| 8 | 300 |\n");
        assertThat(CommandRun.by("loadtest", "review", table.toString()).badInput())
                .contains("has 'TTFT p50' without a unit; write it behind the name, as 'TTFT p50 (ms)'");
        Files.writeString(table, "| concurrency | speed |\n|---|---|\n| 8 | 300 |\n");
        assertThat(CommandRun.by("loadtest", "review", table.toString()).badInput())
                .contains("has a column 'speed' that is not understood");
        Files.writeString(table, "nothing here\n");
        assertThat(CommandRun.by("loadtest", "review", table.toString()).badInput())
                .contains("has no table");
        Files.write(table, new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        assertThat(CommandRun.by("loadtest", "review", table.toString()).badInput())
                .contains("is no text in UTF-8");
        assertThat(CommandRun.by("loadtest", "review", folder.resolve("none.md").toString())
                        .badInput())
                .contains("There is no file");
        assertThat(CommandRun.by("loadtest", "review", folder.toString()).badInput())
                .contains("cannot be read");
        assertThat(CommandRun.by("loadtest", "review", table.toString(), "--said-bias", "-1")
                        .badInput())
                .contains("--said-bias is -1.0; write milliseconds above 0");
    }

    @Test
    void printedCommands_areThoseOfTheScriptForAShell() throws IOException, InterruptedException {
        Path plan = folder.resolve("rerun.sh");
        String printed = CommandRun.by("loadtest", "review", table.toString(), "--plan-out", plan.toString())
                .out();
        String words = "holdfast() { printf '<%s>' \"$@\"; printf '\\n'; }\n";
        String shown = printed.substring(printed.indexOf("What would show it"))
                .lines()
                .skip(2)
                .filter(line -> !line.startsWith("  # ") && !line.startsWith("    s"))
                .reduce("", (a, b) -> a + b + "\n");
        assertThat(shell(words + shown.replaceAll("(?m)^    (?!  ).*\n", "")))
                .isEqualTo(shell(words + Files.readString(plan)));
    }

    private static String shell(String script) throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder("sh", "-c", script).redirectErrorStream(true).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        return out;
    }

    @Test
    void moreUnderWayThanAFloodHas_isSaid() {
        StringWriter told = new StringWriter();
        AbOptions.sayWhatIsFewer(64, 32, new PrintWriter(told));
        assertThat(told.toString().replaceAll("\\s+", " ")).contains("at most 32 are under way", "--flood-requests 64");
        StringWriter nothing = new StringWriter();
        AbOptions.sayWhatIsFewer(8, 8, new PrintWriter(nothing));
        assertThat(nothing.toString()).isEmpty();
    }

    @Test
    void tablesOfResults_areComparedAsTheyAreLogged() throws IOException {
        String rows = "workload,workload id,model,throughput (tok/s)\nprefix,%1$s,Llama,%2$s\nprefix,%1$s,Qwen3,%3$s\n";
        Path before = Files.writeString(folder.resolve("p4.csv"), rows.formatted("a".repeat(64), "300.0", "212.9"));
        Path after = Files.writeString(folder.resolve("p5.csv"), rows.formatted("a".repeat(64), "256.4", "104.2"));
        CommandRun told =
                CommandRun.by("loadtest", "compare", before.toString(), after.toString(), "--fail-on-regression", "5%");
        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(told.out())
                .contains("prefix model=Llama: output throughput 300.0 tok/s → 256.4 tok/s (-14.5 %")
                .contains("prefix model=Qwen3: output throughput 212.9 tok/s → 104.2 tok/s (-51.1 %");
        assertThat(told.out().lines()).allMatch(line -> line.length() <= 80);
        Files.writeString(after, rows.formatted("b".repeat(64), "256.4", "104.2"));
        assertThat(CommandRun.by("loadtest", "compare", before.toString(), after.toString())
                        .badInput())
                .contains("other requests were sent");
    }

    @Test
    void criteriaOfADocument_areMetByResultsThatHaveThem() throws IOException {
        Files.writeString(table, """
            | experiment | success metric |
            |---|---|
            | cache | Measured hit rate |
            | backends | Quantified FlashInfer vs Triton gap |
            | stalls | Explained warp stall patterns |
            """);
        Path results = Files.writeString(folder.resolve("r.csv"), """
            workload,model,backend,TTFT P50 (ms),hit rate (%)
            a,Tiny,flashinfer,82,40
            a,Tiny,triton,94,45
            """);
        assertThat(CommandRun.by("loadtest", "review", table.toString(), "--results", results.toString())
                        .out()
                        .replaceAll("\\s+", " "))
                .contains("met cache: Measured hit rate (r: cached share 40.0 % to 45.0 % in 2 results)")
                .contains("met backends: Quantified FlashInfer vs Triton gap (r: TTFT P50 82 ms with flashinfer, 94 ms"
                        + " with triton)")
                .contains("not measured stalls: Explained warp stall patterns (no result of it in r)");
    }

    @Test
    void log_growsByPhasesAndRefusesWhatWasRedefined() throws IOException {
        Path log = folder.resolve("LOG.md");
        Path results = folder.resolve("results.csv");
        String row = "workload,workload id,model,throughput (tok/s)\nburst,%s,Tiny,%s\n";
        Files.writeString(results, row.formatted("a".repeat(64), "212.9"));
        assertThat(log("one", results, log).out()).contains("1 workload, Tiny", "burst, for the first time");
        Files.writeString(results, row.formatted("a".repeat(64), "104.2"));
        CommandRun second = log("two", results, log);
        assertThat(second.code()).isEqualTo(ExitCode.OK);
        assertThat(second.out())
                .contains("burst, against Phase one")
                .contains("burst, Tiny output throughput 212.9 -> 104.2 (-51.1 %)");
        assertThat(Files.readString(log)).contains("212.9 -> 104.2 (-51.1 %, worse)");
        Files.writeString(results, row.formatted("b".repeat(64), "104.2"));
        assertThat(log("three", results, log).badInput())
                .contains("The workload 'burst' was redefined: in Phase two its requests had the id aaaaaaaaaaaa");
        assertThat(log("four", results, folder.resolve("no/LOG.md")).badInput()).contains("cannot be written");
        CommandRun review = CommandRun.by("loadtest", "review", log.toString());
        assertThat(review.code()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.by("loadtest", "review", log.toString(), "--control", "nosuch")
                        .badInput())
                .contains("--control names 'nosuch', which is no workload of ", "; there are ");
        assertThat(review.out())
                .contains("Phase two against Phase one", "Worse by more than 5 %, the worst first: burst");
    }

    private static CommandRun log(String phase, Path results, Path log) {
        return CommandRun.by("loadtest", "log", "--phase", phase, "--results", results.toString(), log.toString());
    }
}
