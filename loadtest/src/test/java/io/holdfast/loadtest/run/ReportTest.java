package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.report.HtmlRenderer;
import io.holdfast.loadtest.report.JUnitXml;
import io.holdfast.loadtest.report.LegsCsv;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.rules.fault.CacheFault;
import io.holdfast.rules.fault.GpuFault;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.xml.sax.InputSource;

/** What readers are shown of whole experiments; with {@code -Dholdfast.reports=FOLDER} the pages stay there to be looked at. */
final class ReportTest {
    private static final VirtualExperiment EVEN = VirtualExperiment.underPressure();

    private static final Pattern FETCHED = Pattern.compile(
            "<(script|link (?!rel=\"icon\" href=\"data:,\")|img|iframe|object|form)|@import|url\\(|https?:");

    private static final Pattern LARGE_NUMBER =
            Pattern.compile("<p class=\"card main\"><span>Effect of holding</span> <b>[\u2212+]?[0-9]");

    @TempDir
    private Path folder = Path.of("");

    static Stream<Arguments> experiments() {
        GpuFault.Warming warming = new GpuFault.Warming(EVEN.requestsOfALeg() + 1);
        return Stream.of(
                Arguments.of(Finding.REAL, EVEN.withFaults(warming), "Yes, it helped."),
                Arguments.of(
                        Finding.ORDER_ARTEFACT,
                        EVEN.withFaults(warming, new CacheFault.PinIgnored()),
                        "What looked like a gain is the order of the runs."),
                Arguments.of(Finding.NO_EXPOSURE, EVEN.withMemory(65_536), "There was nothing to win"),
                Arguments.of(
                        Finding.NO_EFFECT,
                        EVEN.withFaults(new CacheFault.PinIgnored()),
                        "It changed nothing that matters"),
                Arguments.of(Finding.INCONCLUSIVE, EVEN.with(settings -> settings.rounds(2)), "This run cannot tell"),
                Arguments.of(
                        Finding.INVALID,
                        EVEN.withArms(engine -> {
                            engine.serveAnotherModelFrom(5);
                            return Arms.pinRoute(engine);
                        }),
                        "This run is void."));
    }

    @ParameterizedTest
    @MethodSource("experiments")
    void page_answersFirst_andFetchesNothing(Finding finding, VirtualExperiment experiment, String answer)
            throws IOException {
        Result result = experiment.run(7, folder.resolve("run.jsonl"));
        assertThat(result.verdict().finding()).isEqualTo(finding);
        String page = HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), "run.jsonl"));
        keep(finding, page);
        assertThat(page.indexOf(answer)).isPositive().isLessThan(page.indexOf("<section"));
        assertThat(page).contains(result.headline()).contains("holdfast loadtest analyze run.jsonl");
        assertThat(FETCHED.matcher(page.replace(result.header().unit(), "")).results())
                .isEmpty();
        assertThat(page.substring(page.indexOf("aria-label=\"All legs\""))
                        .lines()
                        .filter(line -> line.startsWith("<tr><th scope=\"row\">"))
                        .count())
                .isEqualTo(result.legs().size());
        assertThat(LARGE_NUMBER.matcher(page).find())
                .as("a null is no number in large letters")
                .isEqualTo(finding == Finding.REAL);
        long marks = result.legs().stream()
                .filter(LegRecord::isMeasured)
                .mapToLong(leg -> leg.probes().size() + 1)
                .sum();
        assertThat(page.split("<title>[^<]*: (a probe, )?[0-9.]+ ms</title>", -1))
                .hasSize((int) marks + 1);
    }

    @Test
    void samePage_comesOfTheJournalAlone() {
        Path journal = folder.resolve("run.jsonl");
        Result result = EVEN.run(7, journal);
        Result again = Analysis.of(journal);
        assertThat(HtmlRenderer.page(RunDocument.page(again, RunMeasures.of(again), "run.jsonl")))
                .isEqualTo(HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), "run.jsonl")));
        assertThat(MarkdownRenderer.text(RunDocument.text(again, RunMeasures.of(again), "a")))
                .isEqualTo(MarkdownRenderer.text(RunDocument.text(result, RunMeasures.of(result), "a")));
    }

    @Test
    void runThatWasCutShort_isLabelledPartialWithItsLastLeg() throws IOException {
        Path journal = folder.resolve("run.jsonl");
        EVEN.run(7, journal);
        Files.write(journal, Files.readAllLines(journal).subList(0, 14));
        Result result = Analysis.of(journal);
        String partial = "PARTIAL: 13 of 24 legs (54.2 %), the last of them "
                + result.legs().getLast().label();
        assertThat(HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), "run.jsonl")))
                .contains(partial);
        assertThat(MarkdownRenderer.text(RunDocument.text(result, RunMeasures.of(result), "run.jsonl")))
                .contains("**" + partial + "**");
    }

    @Test
    void journalThatIsAScript_isText() {
        Result result = EVEN.run(7, folder.resolve("run.jsonl"));
        assertThat(HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), "<script>\"&")))
                .doesNotContain("<script")
                .contains("&lt;script&gt;&quot;&amp;");
    }

    @Test
    void verdictAsATest_passesFailsOrIsSkipped() throws Exception {
        Result real = EVEN.run(7, folder.resolve("real.jsonl"));
        assertThat(suite(JUnitXml.of(real, Optional.empty()))).isEqualTo("0 failed, 0 skipped");
        assertThat(suite(JUnitXml.of(real, Optional.of(Finding.REAL)))).isEqualTo("0 failed, 0 skipped");
        assertThat(suite(JUnitXml.of(real, Optional.of(Finding.NO_EFFECT)))).isEqualTo("1 failed, 0 skipped");
        Result open = EVEN.with(settings -> settings.rounds(2)).run(7, folder.resolve("open.jsonl"));
        assertThat(suite(JUnitXml.of(open, Optional.empty()))).isEqualTo("0 failed, 1 skipped");
        assertThat(suite(JUnitXml.of(open, Optional.of(Finding.INCONCLUSIVE)))).isEqualTo("0 failed, 0 skipped");
        Result invalid = EVEN.withArms(engine -> {
                    engine.serveAnotherModelFrom(5);
                    return Arms.pinRoute(engine);
                })
                .run(7, folder.resolve("invalid.jsonl"));
        assertThat(suite(JUnitXml.of(invalid, Optional.empty()))).isEqualTo("1 failed, 0 skipped");
        assertThat(suite(JUnitXml.of(invalid, Optional.of(Finding.INVALID)))).isEqualTo("0 failed, 0 skipped");
    }

    private static String suite(String xml) throws Exception {
        Document document =
                DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new InputSource(new StringReader(xml)));
        Element suite = (Element) document.getElementsByTagName("testsuite").item(0);
        assertThat(document.getElementsByTagName("failure").getLength())
                .isEqualTo(Integer.parseInt(suite.getAttribute("failures")));
        assertThat(document.getElementsByTagName("skipped").getLength())
                .isEqualTo(Integer.parseInt(suite.getAttribute("skipped")));
        return suite.getAttribute("failures") + " failed, " + suite.getAttribute("skipped") + " skipped";
    }

    @Test
    void csv_hasEachRequestOnce_andNothingForTheUnknown() {
        Result result = EVEN.run(7, folder.resolve("run.jsonl"));
        String[] lines = LegsCsv.of(result).split("\n");
        int columns = lines[0].split(",").length;
        assertThat(lines)
                .hasSize(1
                        + result.legs().stream()
                                .mapToInt(leg -> leg.requests().size())
                                .sum());
        assertThat(lines).allSatisfy(line -> assertThat(line.split(",", -1)).hasSize(columns));
        assertThat(Stream.of(lines).filter(line -> line.contains(",pinned,true,") && line.contains(",probe,")))
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line.split(",", -1)[columns - 2]).isEqualTo("256"));
    }

    @Test
    void markdown_hasItsTablesWhole_whateverAReasonSays() {
        Result result = EVEN.run(7, folder.resolve("run.jsonl"));
        String text = MarkdownRenderer.text(RunDocument.text(result, RunMeasures.of(result), "run.jsonl"));
        assertThat(text).startsWith("## Yes, it helped.\n\n**REAL").contains("| naive claim: ");
        int columns = 0;
        int tables = 0;
        for (String line : text.lines().toList()) {
            int cells = line.startsWith("|") ? line.split("(?<!\\\\)\\|", -1).length : 0;
            tables += columns == 0 && cells > 0 ? 1 : 0;
            assertThat(cells == 0 || columns == 0 || cells == columns).as(line).isTrue();
            columns = cells;
        }
        assertThat(tables).isEqualTo(5);
        assertThat(text)
                .contains("No difference was shown: holding changes the standard deviation of a leg's probes")
                .contains("| Pinned, second in its life (4 legs) | 12 | ");
    }

    private static void keep(Finding finding, String page) throws IOException {
        String kept = System.getProperty("holdfast.reports", "");
        if (!kept.isEmpty()) {
            Files.writeString(Path.of(kept, finding + ".html"), page);
        }
    }
}
