package io.holdfast.loadtest.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.evidence.CrossoverPlan;
import io.holdfast.evidence.Design;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.report.Document.Axis;
import io.holdfast.loadtest.report.Document.Plot;
import io.holdfast.loadtest.report.Document.Point;
import io.holdfast.loadtest.report.Document.Series;
import io.holdfast.loadtest.report.Document.Shape;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Role;
import io.holdfast.loadtest.workload.Workload;
import java.net.URI;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * Each number of a report is that of what it stands beside. In the run the prefix takes 10 ms without a hold and 5 ms with it, and
 * whatever runs second takes a fifth less.
 */
final class ReportFiguresTest {
    private static final Result RUN = result(legs(leg -> (leg.arm() == Arm.PINNED ? 5 : 10)
            * (leg.position() == 2 ? 0.8 : 1)
            * (1 + 0.001 * ((leg.life() * 7 + leg.position() * 3) % 5))));

    private static final String MARKDOWN =
            MarkdownRenderer.text(RunDocument.text(RUN, RunMeasures.of(RUN), "run.jsonl"));
    private static final String PAGE = HtmlRenderer.page(RunDocument.page(RUN, RunMeasures.of(RUN), "run.jsonl"));

    private static List<LegRecord> legs(ToDoubleFunction<LegRecord> probeMillis) {
        List<LegRecord> legs = new ArrayList<>();
        List<PairOrder> lives = Legs.header().plan().lives();
        for (int life = 1; life <= lives.size(); life++) {
            for (int position = 0; position < Workload.LEGS_OF_A_LIFE; position++) {
                LegRecord leg = Legs.leg(life, lives.get(life - 1), position, 1, OptionalInt.empty());
                OptionalInt cached = OptionalInt.of(leg.arm() == Arm.PINNED ? Legs.PREFIX : 0);
                legs.add(Legs.leg(life, lives.get(life - 1), position, probeMillis.applyAsDouble(leg), cached));
            }
        }
        return legs;
    }

    private static Result result(List<LegRecord> legs) {
        return Analysis.of(new Journal.Contents(Legs.header(), legs, List.of()));
    }

    /** The numbers of a row of the Markdown, with a plain minus. */
    private static double[] numbers(String row) {
        return MARKDOWN.lines()
                .filter(line -> line.startsWith("| " + row))
                .map(line -> Pattern.compile("[+\u2212]?\\d+\\.\\d+(?= %| to)")
                        .matcher(line)
                        .results()
                        .mapToDouble(found -> Double.parseDouble(found.group().replace('\u2212', '-')))
                        .toArray())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void threeComparisons_haveTheirOwnChangeAndAnIntervalFromItsLowerEnd() {
        Map.of("naive claim", -60.0, "order bias", -20.0, "effect", -50.0).forEach((name, change) -> {
            double[] all = numbers(name);
            assertThat(all).as(name).hasSize(3);
            assertThat(all[0]).as(name).isCloseTo(change, within(0.3));
            assertThat(all[1]).as(name).isLessThanOrEqualTo(all[0]);
            assertThat(all[2]).as(name).isGreaterThanOrEqualTo(all[0]).isGreaterThan(all[1]);
        });
        assertThat(PAGE)
                .containsPattern("<span>Effect of holding</span> <b>\u2212(49|50)\\.\\d")
                .containsPattern("<span>naive claim</span> <b>\u2212(59|60)\\.\\d")
                .containsPattern("<span>order bias</span> <b>\u2212(19|20)\\.\\d");
    }

    @Test
    void arms_haveTheirOwnTokensAndTimes() {
        assertThat(MARKDOWN)
                .containsPattern("\\| baseline \\| 0 \\| (8|9|10)\\.\\d ms \\| 32 \\| 16 \\|")
                .containsPattern("\\| pinned \\| 64 \\| (4|5)\\.\\d ms \\| 16 \\| 8 \\|");
    }

    @Test
    void marks_haveTheColourAndTheShapeOfTheirArm_asTheLegendSays() {
        assertThat(PAGE)
                .contains("<span class=\"key baseline\">baseline</span><span class=\"key pinned\">pinned</span>");
        assertThat(marks("path", "\\(pinned\\)")).hasSize(8 * 4).allMatch(style -> style.startsWith("pinned"));
        assertThat(marks("circle", "\\(baseline\\)")).hasSize(16 * 4).allMatch(style -> style.startsWith("baseline"));
        assertThat(marks("circle", "\\(pinned\\)")).isEmpty();
        assertThat(marks("path", "\\(baseline\\)")).isEmpty();
    }

    /** The styles of the marks of that shape whose words begin with a leg of that kind. */
    private static List<String> marks(String shape, String arm) {
        Matcher found = Pattern.compile("<" + shape + " class=\"([^\"]+)\"[^>]*><title>[^<]*" + arm + "[^<]*</title>")
                .matcher(PAGE);
        return found.results().map(mark -> mark.group(1)).toList();
    }

    @Test
    void distribution_risesToAllOfItsProbes() {
        String path = Svg.of(new Plot(
                "x",
                "",
                Axis.logarithmic("x", 1, 10, ""),
                Axis.linear("y", 0, 100, "%.0f"),
                List.of(new Series(
                        "",
                        "curve",
                        Shape.STAIRCASE,
                        List.of(new Point(2, 100 / 3.0, ""), new Point(4, 200 / 3.0, ""), new Point(8, 100, ""))))));
        double[] heights = Pattern.compile("V([0-9.]+)")
                .matcher(path)
                .results()
                .mapToDouble(found -> Double.parseDouble(found.group(1)))
                .toArray();
        // Down is more on a screen.
        assertThat(heights).hasSize(3);
        assertThat(heights[0]).isGreaterThan(heights[1]);
        assertThat(heights[1]).isGreaterThan(heights[2]);
        assertThat(heights[2]).isEqualTo(10);
    }

    @Test
    void legThatDoesNotCount_isCalledSoInTheTableOfAll() {
        long uncounted = RUN.legs().stream().filter(leg -> !leg.isMeasured()).count();
        assertThat(uncounted).isPositive();
        assertThat(PAGE.split("\\(does not count\\)", -1)).hasSize((int) uncounted + 1);
    }

    @Test
    void isolation_isThatOfTheRun() {
        assertThat(PAGE).contains("the cache is emptied before each leg").doesNotContain("begin with a salt");
    }

    @Test
    void percentiles_standUnderTheirOwnNames() {
        Result wide = result(legs(leg -> 10 + leg.life() * leg.life() / 4.0));
        Document.Table table = new RunTables(RunMeasures.of(wide), true).byPosition();
        assertThat(table.heads())
                .containsExactly("legs", "n", "mean", "std", "std in a leg", "min", "p50", "p90", "p95", "p99", "max");
        assertThat(table.rows()).isNotEmpty().allSatisfy(row -> {
            double[] rising =
                    row.subList(5, 11).stream().mapToDouble(Double::parseDouble).toArray();
            for (int i = 1; i < rising.length; i++) {
                assertThat(rising[i]).as(row + " at " + i).isGreaterThanOrEqualTo(rising[i - 1]);
            }
        });
    }

    @Test
    void spread_isCalledMoreEvenWhereItIsLess() {
        assertThat(spread(4, 0.5)).startsWith("More evenly: holding changes the standard deviation of a leg's probes");
        assertThat(spread(0.5, 4)).startsWith("Less evenly: ");
    }

    /** With probes of a leg that lie so far apart. */
    private static String spread(double baseline, double pinned) {
        List<LegRecord> legs = legs(leg -> 10).stream()
                .map(leg -> Legs.withRequests(leg, request -> {
                    double apart = (leg.arm() == Arm.PINNED ? pinned : baseline)
                            * (1 + 0.01 * ((leg.life() * 7 + leg.position() * 3) % 5));
                    return request.role() == Role.PROBE && request.cycle() == 2
                            ? Legs.request(request.number(), Role.PROBE, 2, 10 + apart, request.cachedTokens())
                            : request;
                }))
                .toList();
        return new RunTables(RunMeasures.of(result(legs)), true).spread().getFirst();
    }

    @Test
    void csv_hasEachNumberInItsOwnColumn() {
        LegRecord leg = Legs.withRequests(
                RUN.legs().get(1),
                List.of(
                        request(0, RequestStatus.OK),
                        request(1, RequestStatus.TIMED_OUT),
                        request(2, RequestStatus.NOT_SENT)));
        List<String> lines = LegsCsv.of(result(List.of(leg))).lines().toList();
        List<String> heads = Arrays.asList(lines.getFirst().split(",", -1));
        assertThat(List.of("sent_ms", "ttft_ms", "ttft_from_schedule_ms", "end_to_end_ms", "tpot_ms"))
                .extracting(name -> cell(heads, lines.get(1), name))
                .containsExactly("3.000", "7.000", "9.000", "37.000", "2.000");
        assertThat(List.of("prompt_tokens", "cached_tokens", "completion_tokens"))
                .extracting(name -> cell(heads, lines.get(1), name))
                .containsExactly("72", "64", "16");
        assertThat(cell(heads, lines.get(2), "status")).isEqualTo("timed_out");
        assertThat(cell(heads, lines.get(2), "sent_ms"))
                .as("it failed, and was sent at a time that is known")
                .isEqualTo("3.000");
        assertThat(cell(heads, lines.get(2), "ttft_ms")).isEmpty();
        assertThat(cell(heads, lines.get(3), "sent_ms")).isEmpty();
    }

    private static String cell(List<String> heads, String line, String name) {
        return line.split(",", -1)[heads.indexOf(name)];
    }

    /** Its turn came after 1 ms, it was sent after 3, had its first token after 10 and its last, the sixteenth, after 40. */
    private static RequestRecord request(int number, RequestStatus status) {
        return new RequestRecord(
                number,
                Role.PROBE,
                1,
                status,
                1_000_000,
                3_000_000,
                OptionalLong.of(10_000_000),
                OptionalLong.of(10_000_000),
                OptionalLong.of(40_000_000),
                41_000_000,
                OptionalInt.of(72),
                OptionalInt.of(16),
                OptionalInt.of(64),
                status == RequestStatus.OK ? "" : "no end");
    }

    @Test
    void verdictAsATest_hasItsWarnings() {
        List<LegRecord> most = RUN.legs().subList(0, RUN.legs().size() - Workload.LEGS_OF_A_LIFE);
        Result result = result(most);
        assertThat(result.warnings()).isNotEmpty();
        assertThat(JUnitXml.of(result, Optional.empty()))
                .contains(result.warnings().stream().map(HtmlRenderer::escaped).toList());
    }

    @Test
    void commandOfARun_hasItsOrder() {
        assertThat(command(Design.NORMAL)).contains("--order normal").doesNotContain("reversed");
        assertThat(command(Design.REVERSED)).contains("--order reversed").doesNotContain("normal");
        assertThat(command(Design.CROSSOVER)).doesNotContain("--order").contains("--rounds 3", "--seed 42");
    }

    private static String command(Design design) {
        LoadTestPlan test = Legs.header().test().toBuilder()
                .target(new LoadTestPlan.Target(
                        URI.create("http://127.0.0.1:1"),
                        List.of(),
                        FloodShape.of(64, 8, 5, 40, 3),
                        "closed",
                        ArmPlan.none(),
                        Optional.empty(),
                        Optional.empty()))
                .build();
        return RunCommand.of(Legs.header()
                        .of(CrossoverPlan.draw(design, 3, new SplittableRandom(1)), true)
                        .with(test))
                .orElseThrow();
    }
}
