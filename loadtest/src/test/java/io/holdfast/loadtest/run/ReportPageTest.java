package io.holdfast.loadtest.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.evidence.Finding;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.analysis.RunMeasures;
import io.holdfast.loadtest.report.HtmlRenderer;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.report.SweepDocument;
import io.holdfast.loadtest.sweep.Sweep;
import io.holdfast.loadtest.sweep.SweepPlan;
import io.holdfast.rules.testing.HeadlessBrowser;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The report in a headless Chromium, where this machine has one; {@code -Dholdfast.screenshots=DIR} keeps what it looked like.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ReportPageTest {
    private static final int PHONE = 390;
    private static final int[][] WINDOWS = {{PHONE, 844}, {1440, 900}};

    /** The answer, the effect, the naive claim and how sure it is. */
    private static final String VISIBLE = "['#verdict', '.card.main', '.card:nth-child(2)', '#sure'].every(each => {"
            + " const box = document.querySelector(each).getBoundingClientRect();"
            + " return box.height > 0 && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0"
            + " && box.right <= innerWidth; })";

    private Optional<HeadlessBrowser> browser = Optional.empty();

    @TempDir
    private Path folder = Path.of("");

    @BeforeAll
    void start(@TempDir Path profile) throws IOException {
        Optional<Path> binary = HeadlessBrowser.found();
        assumeTrue(binary.isPresent(), HeadlessBrowser.MISSING);
        browser = Optional.of(new HeadlessBrowser(binary.orElseThrow(), profile));
    }

    @AfterAll
    void stop() {
        browser.ifPresent(HeadlessBrowser::close);
    }

    /** The others are made of the same parts. */
    static Stream<Arguments> experiments() {
        return ReportTest.experiments()
                .filter(each -> each.get()[0] != Finding.NO_EFFECT && each.get()[0] != Finding.INCONCLUSIVE);
    }

    @ParameterizedTest
    @MethodSource("experiments")
    void everyFinding_isReadWithoutScrolling(Finding finding, VirtualExperiment experiment, String answer)
            throws IOException {
        Path page = folder.resolve(finding + ".html");
        Result result = experiment.run(7, folder.resolve(finding + ".jsonl"));
        Files.writeString(page, HtmlRenderer.page(RunDocument.page(result, RunMeasures.of(result), "run.jsonl")));
        looksRight(page, finding.name().toLowerCase(Locale.ROOT), answer);
    }

    @Test
    void sweep_answersForAllLevelsWithoutScrolling(@TempDir Path levels) throws IOException {
        Sweep sweep = sweep(levels);
        Path page = folder.resolve("sweep.html");
        Files.writeString(page, HtmlRenderer.page(SweepDocument.page(sweep, "sweep")));

        assertThat(sweep.levels().getLast().result().verdict().finding()).isEqualTo(Finding.NO_EXPOSURE);
        looksRight(page, "sweep", "Yes, where memory is short: at 3 of 5 levels.");
    }

    /** The same flood on a cache that is too small for it, and on ever larger ones. */
    private static Sweep sweep(Path levels) {
        List<String> capacities = List.of("1280", "1536", "1792", "2560", "8192");
        new SweepPlan(
                        "2026-01-01T00:00:00Z",
                        SweepPlan.levels(Map.of("capacity", capacities), Optional.empty()),
                        Map.of())
                .write(levels);
        for (SweepPlan.Level level : SweepPlan.read(levels).levels()) {
            VirtualExperiment.underPressure()
                    .withMemory(Integer.parseInt(level.values().getOrDefault("capacity", "")))
                    .run(7, levels.resolve(level.journal()));
        }
        return Sweep.of(levels);
    }

    private void looksRight(Path file, String name, String answer) throws IOException {
        HeadlessBrowser chromium = browser.orElseThrow();
        URI page = file.toUri();
        for (int[] window : WINDOWS) {
            for (boolean dark : List.of(false, true)) {
                String where = name + "-" + window[0] + (dark ? "-dark" : "");
                chromium.looks(window[0], window[1], dark);
                chromium.open(page);
                chromium.evaluate("new Promise(done => document.readyState === 'complete' ? done()"
                        + " : addEventListener('load', done))");

                assertThat(chromium.text("#verdict")).as(where).contains(answer);
                assertThat(chromium.evaluate(VISIBLE)).as(where).isEqualTo(true);
                assertThat(chromium.complaints()).as(where).isEmpty();
                assertThat(chromium.requests()).as(where).containsOnly(page.toString());
                assertThat(chromium.evaluate("document.documentElement.scrollWidth <= innerWidth"))
                        .as("nothing is wider than the window, " + where)
                        .isEqualTo(true);
                if (window[0] == PHONE) {
                    assertThat(chromium.faintTexts()).as(where).isEmpty();
                }
                keep(where, chromium);
            }
        }
    }

    private static void keep(String name, HeadlessBrowser chromium) throws IOException {
        String kept = System.getProperty("holdfast.screenshots", "");
        if (!kept.isEmpty()) {
            Files.createDirectories(Path.of(kept));
            Files.write(Path.of(kept, name + ".png"), chromium.screenshot(false));
            Files.write(Path.of(kept, name + "-whole.png"), chromium.screenshot(true));
        }
    }
}
