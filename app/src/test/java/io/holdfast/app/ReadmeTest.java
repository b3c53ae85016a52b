package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.demo.AutomaticScenario;
import io.holdfast.app.demo.DemoFolder;
import io.holdfast.app.demo.DemoOutcome;
import io.holdfast.app.demo.DemoPrinter;
import io.holdfast.app.demo.DemoScenario;
import io.holdfast.app.demo.DemoSettings;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.Statistic;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The figures of the README are those of the run that it names, whose journals are kept beside it and judged here again. */
final class ReadmeTest {
    private static final Path ROOT = Path.of(System.getProperty("maven.multiModuleProjectDirectory", ".."));
    private static final Path RUN = ROOT.resolve("docs").resolve("runs").resolve("demo");
    private static final Pattern LEFT_OUT = Pattern.compile("(?m)^ *\\.\\.\\.\n");
    private static final Pattern PRINTED = Pattern.compile("(?s)```\n(\\(a\\).*?)```");

    @Test
    void printedDemo_isWhatItsKeptRunIsJudgedToBe() throws IOException {
        String readme = Files.readString(ROOT.resolve("README.md"));
        Matcher printed = PRINTED.matcher(readme);
        assertThat(printed.find()).as("the demo's output in the README").isTrue();
        String judged = judgedAgain();
        int from = 0;
        // Dots stand for what the README leaves out.
        for (String fragment : LEFT_OUT.split(printed.group(1), -1)) {
            assertThat(judged.substring(from))
                    .as("what the kept run is judged to be, in its order")
                    .contains(fragment);
            from = judged.indexOf(fragment, from) + fragment.length();
        }
        assertThat(readme).contains("(docs/runs/demo)").contains("./holdfast loadtest analyze docs/runs/demo");
    }

    /** What the demo would print of it with this version's analysis, its gates and its words. */
    private static String judgedAgain() throws IOException {
        DemoSettings settings = new DemoSettings(42, 4, 3, true, true, Statistic.PROBE_P50, List.of());
        StringWriter text = new StringWriter();
        DemoPrinter printer = new DemoPrinter(TerminalText.plain(new PrintWriter(text)), settings);
        DemoFolder folder = new DemoFolder(RUN);
        List<DemoOutcome> outcomes = new ArrayList<>();
        for (DemoScenario scenario : List.of(DemoScenario.pressure(3), DemoScenario.ample(3))) {
            printer.begin(scenario);
            DemoOutcome outcome =
                    new DemoOutcome(scenario, Analysis.of(Journal.read(folder.journal(scenario))), settings.warming());
            printer.end(outcome);
            outcomes.add(outcome);
        }
        printer.beginAutomatic();
        printer.automatic(
                automatic(new ObjectMapper().readTree(RUN.resolve("demo.json").toFile())));
        printer.closing(outcomes, ExitCode.OK);
        return text.toString().replace(System.lineSeparator(), "\n");
    }

    private static AutomaticScenario automatic(JsonNode document) {
        JsonNode third = document.path("automaticHold");
        return new AutomaticScenario(
                third.path("texts").asInt(),
                new AutomaticScenario.Round(
                        third.path("hitsBefore").asInt(),
                        third.path("cachedTokensBefore").asInt()),
                new AutomaticScenario.Round(
                        third.path("hitsAfter").asInt(),
                        third.path("cachedTokensAfter").asInt()),
                third.path("heldBlocks").asInt(),
                third.path("reason").asText());
    }
}
