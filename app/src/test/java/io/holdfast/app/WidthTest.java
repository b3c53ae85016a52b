package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.report.TerminalRenderer;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What people read fits on a terminal of 80 columns, whatever names things have. */
class WidthTest {
    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        vertx.close().await();
    }

    @Test
    void help_fitsOfEveryCommand() {
        for (CommandLine command : all(Holdfast.commandLine(CommandLine.defaultFactory()))) {
            assertFits(command.getUsageMessage());
        }
    }

    @Test
    void lists_fit() {
        assertFits(CommandRun.by("loadtest", "preset", "--list").out());
        assertFits(CommandRun.by("emulate", "--list-faults").out());
    }

    @Test
    void loads_fitFromThePlanToTheComparison() throws IOException {
        Path recipe = Files.writeString(folder.resolve("loads.yaml"), """
            name: a-load-that-has-a-name-as-long-as-people-make-them
            parts:
              - {name: load, requests: 3, own: 64, answer: 4}
            ---
            name: short
            parts:
              - {name: load, requests: 3, own: 64, answer: 4}
            """);
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.PLAIN)) {
            String engine = emulator.uri().toString();
            List<String> leg = List.of(
                    "loadtest",
                    "leg",
                    "--engine",
                    engine,
                    "--recipe",
                    recipe.toString(),
                    "--slo",
                    "ttft=1s",
                    "--repeat");
            assertFits(told(leg, "2", "--plan"));
            Path first = folder.resolve("first");
            Path second = folder.resolve("second");
            assertFits(told(leg, "2", "--out", first.toString()).replace(folder.toString(), ""));
            told(leg, "2", "--out", second.toString());
            CommandRun compared = CommandRun.by(
                    "loadtest",
                    "compare",
                    results(first).toString(),
                    results(second).toString());
            assertThat(compared.out()).contains("TTFT P50");
            assertFits(compared.out());
            CommandRun three = CommandRun.by(
                    "loadtest",
                    "compare",
                    results(first).toString(),
                    results(second).toString(),
                    results(first).toString());
            assertFits(three.out());
            CommandRun timeline = CommandRun.by("loadtest", "timeline", first.toString(), "short/pass2");
            assertThat(timeline.code()).as(timeline.err()).isEqualTo(ExitCode.OK);
            assertThat(timeline.out()).startsWith("short/pass2");
            assertFits(timeline.out());
            assertThat(CommandRun.by("loadtest", "timeline", first.toString(), "short/pass3")
                            .badInput())
                    .contains("has no leg 'short/pass3'; it has a-load", "short/pass2");
            assertThat(CommandRun.by("loadtest", "repro", first.toString(), "short/pass2")
                            .badInput())
                    .contains("is a folder");
        }
    }

    @Test
    void storyOfAPrefixCache_fitsAndNamesThePolicyOfEviction() throws IOException {
        try (Emulator emulator = Emulator.start(
                vertx,
                QuickEngine.PLAIN.withKind(new EmulatorSettings.Kind.Sglang(
                        SglangSettings.defaults().withSizes(16_384, 16, 4_096), false)))) {
            Path out = folder.resolve("radix");
            CommandRun told = CommandRun.by(
                    "loadtest",
                    "preset",
                    "radix",
                    "--engine",
                    emulator.uri().toString(),
                    "--requests",
                    "6",
                    "--output-tokens",
                    "1",
                    "--out",
                    out.toString());
            assertThat(told.out()).as(told.err()).contains("Eviction policy   lru");
            assertFits(told.out().replace(folder.toString(), ""));
        }
    }

    @Test
    void tables_areBrokenIntoPartsThatRepeatTheirFirstColumn() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(List.of("leg", "a".repeat(30), "b".repeat(30), "said"));
        rows.add(List.of("one", "1", "2", "word ".repeat(30).strip()));

        List<String> plain = TerminalRenderer.table(rows);
        assertFits(String.join("\n", plain));
        assertThat(plain.stream().filter(line -> line.startsWith("  one"))).hasSize(2);
        assertThat(String.join(" ", plain).split("word", -1)).hasSize(31);
        List<String> boxed = TerminalRenderer.boxed(rows);
        assertFits(String.join("\n", boxed));
        assertThat(boxed.stream().filter(line -> line.startsWith("│ one"))).hasSize(2);
        assertThat(boxed).allMatch(line -> !line.startsWith("│") || line.endsWith("│"));
    }

    private static void assertFits(String text) {
        assertThat(text.lines())
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line.length()).as(line).isLessThanOrEqualTo(80));
    }

    private static Path results(Path of) throws IOException {
        try (Stream<Path> files = Files.list(of)) {
            return files.filter(file -> file.getFileName().toString().startsWith("leg_"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    private static String told(List<String> command, String... more) {
        CommandRun told =
                CommandRun.by(Stream.concat(command.stream(), Stream.of(more)).toArray(String[]::new));
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.OK);
        return told.out();
    }

    private static List<CommandLine> all(CommandLine command) {
        List<CommandLine> all = new ArrayList<>(List.of(command));
        command.getSubcommands().values().forEach(each -> all.addAll(all(each)));
        return all;
    }
}
