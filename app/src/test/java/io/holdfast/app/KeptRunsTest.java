package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.evidence.Interval;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.ArmSummary;
import io.holdfast.loadtest.analysis.ControlAnalysis;
import io.holdfast.loadtest.analysis.ControlResult;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.sweep.Sweep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Pages about the runs on an H200 say what their journals, which are kept, are judged to be by this version. */
final class KeptRunsTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path RUNS = ROOT.resolve("docs").resolve("runs").resolve("h200");
    private static final Pattern PRINTED =
            Pattern.compile("(?s)```\n\\$ ./holdfast loadtest analyze docs/runs/h200/(\\S+)\n(.*?)```");
    private static final Pattern LEFT_OUT = Pattern.compile("(?m)^ *\\.\\.\\.\n");

    private String page = "";

    @BeforeEach
    void read() throws IOException {
        page = Files.readString(RUNS.resolve("README.md"));
    }

    @Test
    void printedRuns_areWhatAnalyzePrintsOfTheKeptJournals() throws IOException {
        Matcher printed =
                PRINTED.matcher(page + Files.readString(ROOT.resolve("docs").resolve("judge-a-change.md")));
        int blocks = 0;
        while (printed.find()) {
            String told = CommandRun.by(
                            "loadtest",
                            "analyze",
                            RUNS.resolve(printed.group(1)).toString())
                    .out()
                    .replace(System.lineSeparator(), "\n");
            int from = 0;
            // Dots stand for what the page leaves out.
            for (String fragment : LEFT_OUT.split(printed.group(2), -1)) {
                assertThat(told.substring(from)).as(printed.group(1)).contains(fragment);
                from = told.indexOf(fragment, from) + fragment.length();
            }
            blocks++;
        }
        assertThat(blocks).isEqualTo(4);
    }

    @Test
    void tableOfRuns_hasTheFiguresOfTheKeptJournals() {
        for (String run : new String[] {"sglang-session", "vllm-keep-warm"}) {
            Result result = Analysis.of(RUNS.resolve(run + ".jsonl"));
            assertThat(result.verdict().finding()).isEqualTo(Finding.REAL);
            assertThat(page)
                    .contains("| `%s.jsonl` | %s | %s | %s | %s | REAL |"
                            .formatted(
                                    run,
                                    arm(result.baseline()),
                                    arm(result.pinned()),
                                    percent(result.estimate().effect().orElseThrow()) + " "
                                            + interval(result.estimate().ci95().orElseThrow()),
                                    percent(result.estimate().orderBias().orElseThrow())));
        }
        ControlResult twice = ControlAnalysis.of(RUNS.resolve("sglang-aa.jsonl"));
        assertThat(page)
                .contains("| `sglang-aa.jsonl` | %s | | | %s %s | no verdict |"
                        .formatted(
                                arm(twice.probes()),
                                percent(twice.estimate().orderBias().orElseThrow()),
                                interval(twice.estimate().orderBiasCi95().orElseThrow())));
    }

    /** A placebo that is wide takes nothing from a gain far beyond it. */
    @Test
    void keptSweep_isRealAtTheTwoLevelsThatFillTheCache() {
        assertThat(Sweep.of(RUNS.resolve("sweep")).levels().stream()
                        .map(level -> level.result().verdict().finding()))
                .containsExactly(Finding.REAL, Finding.NO_EXPOSURE, Finding.REAL, Finding.NO_EXPOSURE);
    }

    @Test
    void keptJournals_nameNoFileAndNoKey() throws IOException {
        try (Stream<Path> files = Files.walk(RUNS)) {
            for (Path file :
                    files.filter(each -> each.toString().contains(".json")).toList()) {
                assertThat(Files.readString(file))
                        .as("%s", file)
                        .doesNotContain("/home/", "/root/", "/tmp/", "Bearer", "authorization", "server-command");
            }
        }
    }

    private static String arm(ArmSummary arm) {
        return String.format(
                Locale.ROOT,
                "%.1f ms, %,.0f cached",
                arm.ttftMillis().orElseThrow(),
                arm.cachedTokens().orElseThrow());
    }

    private static String interval(Interval logs) {
        return String.format(
                Locale.ROOT, "(%+.1f to %+.1f)", 100 * Math.expm1(logs.low()), 100 * Math.expm1(logs.high()));
    }

    private static String percent(double log) {
        return String.format(Locale.ROOT, "%+.1f %%", 100 * Math.expm1(log));
    }
}
