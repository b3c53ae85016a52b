package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.holdfast.app.cli.ExitCode;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Published documents exactly as they stand, by the commands that people give. They are in a folder beside the checkout, or
 * in the one that {@code -Dholdfast.documents=DIR} names; tests skip where they are not.
 */
class PublishedDocumentsTest {
    private static final String PIN_REVIEW = "S0-pin-review.md";
    private static final String CRASH_REPORT = "S1-crash-report.md";
    private static final String GUIDE = "S2-kvcached-benchmarking.md";
    private static final String LOG = "S3-serving-log.md";
    private static final String PLAN = "S4-experiment-plan.md";

    @Test
    void reviewOfTwoSweeps_findsWhatTheirReviewerFoundByHand() {
        CommandRun told = review(PIN_REVIEW);
        assertThat(told.code()).isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(flat(told))
                .contains("All 10 printed changes are what the numbers give.")
                .contains("All 15 printed changes are what the numbers give.")
                .contains("at concurrency 4 to 32 (mean 107.6 ms, standard deviation 13.9, 0.13 of the mean)")
                .contains("concurrency 8: MIXED: TTFT mean changes by -10.9 %, and TTFT P50 by +1.6 %")
                .contains("concurrency 32: MIXED: TTFT mean changes by -20.3 %, and TTFT P50 by +12.3 %")
                .contains("concurrency 4: 3.1 (0.78 waves); concurrency 8: 5.7 (0.71 waves)")
                .contains("the baseline differs by 2.2 % and the other arm by 2.1 %")
                .contains("need 13,048 tokens with the shared prefix counted once (28,672 if it is counted for each)")
                .contains("the cache has 22,000, so the pressure is 0.59")
                .contains("A P99 of 128 requests is its second slowest")
                .contains("'BL p50', 'PIN p50', 'BL p99', 'PIN p99': taken as TTFT, which the other columns are.");
        assertThat(flat(told).split("MIXED", -1)).hasSize(3);
        assertThat(told.out())
                .as("the benchmark itself, and a flood of as many as are to be under way")
                .contains("holdfast loadtest preset pin-poc --engine http://127.0.0.1:30000")
                .contains("--flood-requests 64");
        assertNarrow(told);
    }

    @Test
    void ledgerOfClaims_isReadWithItsLimits() {
        assertThat(flat(review(PIN_REVIEW)))
                .contains("Directionally correct [magnitude uncertain] PIN provides 67% TTFT improvement at conc=64")
                .contains("Likely real [at high concurrency] PIN reduces TTFT variability")
                .doesNotContain("Skipped");
    }

    @Test
    void tokensOfRequests_areThoseOfTheTextOrOfWhoKnowsBetter() {
        assertThat(flat(review(PIN_REVIEW)))
                .contains("Its text says 448 tokens each, and 200 unique tokens each, so 248 are taken as shared;");
        assertThat(flat(review(PIN_REVIEW, "--shared-tokens", "448", "--own-tokens", "100")))
                .contains("64 requests under way need 6,848 tokens with the shared prefix counted once")
                .doesNotContain("Its text says");
    }

    @Test
    void tablesOfSomethingElse_areSkippedWithALineEach() {
        CommandRun told = review(CRASH_REPORT);
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(flat(told))
                .contains("From the first request the second user waits 36.17 s")
                .contains("The table 'Run Summary' (line 5) has a column 'Total' that is not understood;")
                .contains("(line 23) has a column 'Passes Failed' that is not understood;")
                .contains("'System TPS': without a unit, taken in tok/s, as is usual.");
        assertNarrow(told);
    }

    @Test
    void documentOfWordsAlone_isRefusedInOneSentence() {
        assertThat(review(GUIDE).badInput()).contains("None of the 2 tables of ", "(line 18) has ");
    }

    @Test
    void criteriaOfAPlan_areNotMeasuredByThePlanItself() {
        CommandRun told = review(PLAN);
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(told.out().lines().filter(line -> line.startsWith("  not measured ")))
                .hasSize(6)
                .first()
                .asString()
                .contains("1. Baseline: Captured per-phase hardware metrics");
    }

    @Test
    void reviewOfALog_readsItsTablesItsSentencesAndItsComparisons() {
        CommandRun told = review(LOG);
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertNarrow(told);
        assertThat(flat(told))
                .doesNotContain("Skipped")
                .as("the table of changes alone")
                .contains("Phase 5 vs Phase 4 — Comparison ------------------------------- - arithmetic All 15 printed"
                        + " changes are what the numbers give.")
                .as("a row of changes between rows")
                .contains("All 3 printed changes are what the numbers give.")
                .as("changes in brackets")
                .contains("3 of 15 printed changes are not what the numbers give")
                .contains("printed +874 %, and the numbers give +874.7 %")
                .as("a batch sweep without a unit")
                .contains("stay at batch 16 (318.1 tok/s), which is within 5 % of the best, batch 20 (326.2)")
                .contains("'Throughput': without a unit, taken in tok/s, as elsewhere in the document.")
                .as("a setting that sentences tell")
                .contains("prefix_caching, Qwen3: Qwen3 ran with blocks 1536 here and with blocks 1024 elsewhere")
                .as("one after the other, by the table of workloads")
                .contains("Output throughput is 47.2 tok/s, and 256 tokens in the median latency of 3.944 s are 64.9")
                .contains("A P99 of 10 requests is its slowest")
                .as("what nobody wrote about, beside what a paragraph or a table says")
                .contains("continuous_batching, Qwen3 TTFT P50 175 -> 1215 (+594.3 %) not commented")
                .contains("prefix_caching, Qwen3 ITL P99 40 -> 191 (+377.5 %);")
                .contains("continuous_batching, Llama ITL P99 19 -> 58 (+205.3 %);");
        assertThat(flat(told).split("some requests were far from the median", -1))
                .as("Qwen3 of Phase 7 alone")
                .hasSize(2);
    }

    @Test
    void phaseThatIsNamed_isWhatLaterOnesAreComparedWith() {
        CommandRun told = review(LOG, "--against", "Phase 4");
        assertThat(flat(told))
                .contains("Phase 6 — Paged Attention with Triton Kernel against Phase 4 — Static Batching");
        assertThat(told.out().lines().dropWhile(line -> !line.startsWith("Phase 6 — Paged")))
                .contains("  paged_attention, Llama     output throughput  346.1 -> 455.2 (+31.5 %)");
        assertThat(review(LOG, "--against", "Phase 3").badInput()).contains("There is no phase 'Phase 3' in ");
    }

    @Test
    void phasesOfALog_areComparedInWholePercent() {
        CommandRun told = loadtest(
                "compare",
                LOG,
                "--phase",
                "4,5",
                "--workload",
                "continuous_batching",
                "--markdown",
                "--metric",
                "throughput,ttft_p50,ttft_p99,itl_p50,itl_p99");
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(percents(told, "output throughput")).containsExactly("+25", "+26", "+8");
        assertThat(percents(told, "TTFT P50")).containsExactly("\u221255", "\u221245", "\u221230");
        assertThat(percents(told, "TTFT P99")).containsExactly("\u221255", "\u221244", "\u221233");
        assertThat(percents(told, "ITL P50")).containsExactly("+24", "+22", "+22");
        assertThat(percents(told, "ITL P99")).containsExactly("+205", "+163", "+38");
    }

    @Test
    void severalPhases_areRowsWithTheChangeAgainstTheFirst() {
        CommandRun told =
                loadtest("compare", LOG, "--phase", "4,5,6", "--workload", "paged_attention", "--metric", "throughput");
        assertThat(flat(told)).contains("346.1 tok/s").contains("455.2 tok/s +31.5 % +");
        assertNarrow(told);
    }

    @Test
    void matrixOfALog_hasWorkloadsByModels() {
        CommandRun throughput = loadtest("matrix", LOG, "--phase", "8,9", "--markdown");
        assertThat(throughput.out().lines())
                .contains(
                        "| workload | model=Llama | model=Qwen3 | model=Gemma3 |",
                        "| baseline | (\u221238 %) | (\u221235 %) | (\u221242 %) |",
                        "| continuous_batching | (\u221216 %) | (\u221241 %) | (\u22125 %) |",
                        "| paged_attention | (\u22128 %) | (\u221246 %) | (+3 %) |",
                        "| chunked_prefill | (\u22122 %) | (+5 %) | (\u22125 %) |",
                        "| prefix_caching | (0 %) | (\u221214 %) | (+2 %) |");
        CommandRun gaps = loadtest("matrix", LOG, "--metric", "itl_p50", "--markdown");
        assertThat(gaps.out().lines())
                .contains(
                        "| baseline | (+50 %) | (+53 %) | (+82 %) |",
                        "| continuous_batching | (+38 %) | (+78 %) | (+6 %) |",
                        "| paged_attention | (0 %) | (+82 %) | (\u22123 %) |",
                        "| chunked_prefill | (0 %) | (\u221212 %) | (0 %) |",
                        "| prefix_caching | (\u22121 %) | (+16 %) | (\u22123 %) |");
        assertNarrow(loadtest("matrix", LOG));
    }

    @Test
    void regressionsOfPhases_failTheGateAndAreNamed() {
        CommandRun told = loadtest(
                "compare",
                LOG,
                "--phase",
                "4,5",
                "--workload",
                "prefix_caching",
                "--metric",
                "throughput",
                "--fail-on-regression",
                "5%");
        assertThat(told.code()).isEqualTo(ExitCode.CHECK_FAILED);
        assertThat(flat(told)).contains("-14.5 %").contains("-51.1 %").contains("-9.1 %");
        assertNarrow(told);
    }

    private static Stream<String> percents(CommandRun told, String metric) {
        String row = told.out()
                .lines()
                .filter(line -> line.startsWith("| " + metric))
                .findFirst()
                .orElseThrow();
        return java.util.regex.Pattern.compile("\\((\\S+) %\\)")
                .matcher(row)
                .results()
                .map(match -> match.group(1));
    }

    private static CommandRun review(String document, String... options) {
        return loadtest("review", document, options);
    }

    private static CommandRun loadtest(String command, String document, String... options) {
        return CommandRun.by(
                Stream.concat(Stream.of("loadtest", command, document(document).toString()), Stream.of(options))
                        .toArray(String[]::new));
    }

    /** All of it with one blank between words, wherever its lines end. */
    private static String flat(CommandRun told) {
        return told.out().replaceAll("\\s+", " ");
    }

    private static void assertNarrow(CommandRun told) {
        assertThat(told.out().lines()).allMatch(line -> line.length() <= 80);
    }

    private static Path document(String name) {
        Path file = Path.of(System.getProperty("holdfast.documents", "../../shared/mission-documents"))
                .resolve(name);
        assumeThat(file)
                .as("needs published documents as they stand: give their folder with -Dholdfast.documents=DIR")
                .exists();
        return file;
    }
}
