package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.demo.DemoCommand;
import io.holdfast.loadtest.run.RunClock;
import java.io.IOException;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import picocli.CommandLine.IFactory;

/** What the command says about itself, and how it answers what it does not know. */
class FrontDoorTest {
    private static final int COLUMNS = 80;

    @Test
    void help_offersWhatIsBuiltAndNothingElse() {
        CommandRun told = help("--help");

        assertThat(offered(told))
                .containsExactly(
                        "demo",
                        "doctor",
                        "observe",
                        "sidecar",
                        "top",
                        "summary",
                        "fleet",
                        "ledger",
                        "loadtest",
                        "replay",
                        "emulate");
        assertThat(told.out())
                .contains(
                        "Exit codes: 0 ok, 1 the check failed, 2 bad input or data, 3 inconclusive,",
                        "70 internal error, 130 stopped by Ctrl-C.");
    }

    @Test
    void internalFault_hasAnExitCodeOfItsOwn() {
        for (Throwable fault : List.of(new IOException("a bug"), new StackOverflowError("a deep bug"))) {
            CommandRun told = CommandRun.by(failing(fault), "demo");

            assertThat(told.code()).isEqualTo(70);
            assertThat(told.out()).isEmpty();
            assertThat(told.err().lines()).hasSize(1);
            assertThat(told.err())
                    .startsWith("holdfast: internal error, please report it: ")
                    .contains(fault.toString());
        }
    }

    /** Makes {@code demo} a command that fails in our own code. */
    private static IFactory failing(Throwable fault) {
        IFactory usual = CommandLine.defaultFactory();
        return new IFactory() {
            @Override
            public <K> K create(Class<K> type) throws Exception {
                return type == DemoCommand.class
                        ? type.cast(new DemoCommand(
                                cycles -> {
                                    if (fault instanceof Error error) {
                                        throw error;
                                    }
                                    throw new IllegalStateException(fault);
                                },
                                RunClock.system()))
                        : usual.create(type);
            }
        };
    }

    @Test
    void loadtestHelp_offersEachCommandInOneGroup() {
        CommandRun told = help("loadtest", "--help");

        assertThat(told.out().lines().filter(FrontDoorTest::isHead))
                .hasSize(5)
                .startsWith("Does holding pay off? Start with aa, then ab:");
        assertThat(offered(told, FrontDoorTest::isHead))
                .containsExactly(
                        "aa",
                        "ab,",
                        "sweep",
                        "resume",
                        "status",
                        "leg",
                        "preset",
                        "analyze",
                        "report",
                        "bundle",
                        "import",
                        "compare",
                        "matrix",
                        "scaling",
                        "review",
                        "log",
                        "trace",
                        "samples",
                        "timeline",
                        "profile",
                        "repro",
                        "doctor",
                        "calibrate");
        assertThat(offered(told, FrontDoorTest::isHead))
                .as("a command that is in no group is not in the help")
                .hasSize((int) new CommandLine(new LoadtestCommand())
                        .getSubcommands().values().stream().distinct().count());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--help",
                "demo --help",
                "doctor --help",
                "observe --help",
                "sidecar --help",
                "loadtest --help",
                "loadtest aa --help",
                "loadtest run --help",
                "loadtest analyze --help",
                "loadtest leg --help",
                "loadtest import --help",
                "loadtest compare --help",
                "loadtest matrix --help",
                "loadtest scaling --help",
                "loadtest report --help",
                "loadtest bundle --help",
                "loadtest calibrate --help",
                "loadtest doctor --help",
                "loadtest trace --help",
                "loadtest samples --help",
                "loadtest profile --help",
                "loadtest repro --help",
                "loadtest timeline --help",
                "loadtest ab --help",
                "loadtest sweep --help",
                "loadtest preset pin-poc --help",
                "loadtest preset --help",
                "loadtest preset serving --help",
                "loadtest preset radix --help",
                "loadtest review --help",
                "loadtest log --help",
                "replay --help",
                "emulate --help"
            })
    void helpOfEachCommand_mentionsNothingThatIsNotBuilt(String command) {
        CommandRun told = help(command.split(" ", -1));

        assertThat(told.out())
                .startsWith("Usage: holdfast")
                .doesNotContainPattern("holdfast (top|summary)|loadtest (observe|replay)\\b");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "demo",
                "doctor",
                "observe",
                "sidecar",
                "loadtest run",
                "loadtest analyze",
                "loadtest report",
                "loadtest bundle",
                "loadtest import",
                "loadtest compare",
                "loadtest matrix",
                "loadtest scaling",
                "loadtest sweep",
                "loadtest preset serving",
                "loadtest review",
                "loadtest log",
                "replay",
                "emulate"
            })
    void helpOfEachCommand_explainsEveryOption(String command) {
        CommandRun told = help((command + " --help").split(" ", -1));

        assertThat(told.out().lines().filter(line -> line.strip().startsWith("--")))
                .isNotEmpty()
                .allSatisfy(line -> assertThat(line.strip()).doesNotContain("${"));
        assertThat(told.out()).contains("-h, --help").contains("-V, --version");
    }

    @ParameterizedTest
    @CsvSource({"-V", "--version"})
    void version_isOneLine(String option) {
        assertThat(CommandRun.by(option))
                .isEqualTo(new CommandRun(ExitCode.OK, "holdfast 0.2.0" + System.lineSeparator(), ""));
    }

    @Test
    void commandWithoutSubcommand_showsItsHelp() {
        assertThat(CommandRun.by()).isEqualTo(CommandRun.by("--help"));
        assertThat(CommandRun.by("loadtest")).isEqualTo(CommandRun.by("loadtest", "--help"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "nosuch|unknown subcommand 'nosuch'; see 'holdfast --help'.",
                "loadtest nosuch|unknown subcommand 'nosuch'; see 'holdfast loadtest --help'.",
                "--nosuch|unknown option '--nosuch'; see 'holdfast --help'.",
                "demo --nosuch|unknown option '--nosuch'; see 'holdfast demo --help'.",
                "emulate here|unknown argument 'here'; see 'holdfast emulate --help'.",
                "loadtest analyze x --prot 5|unknown option '--prot'; see 'holdfast loadtest analyze --help'.",
                "loadtest observe|unknown subcommand 'observe'; see 'holdfast loadtest --help'.",
                "aa|unknown subcommand 'aa'; see 'holdfast --help'."
            })
    void unknownWord_isNamedWithWhereToLook(String command, String sentence) {
        assertThat(CommandRun.by(command.split(" ", -1)).badInput()).isEqualTo("holdfast: " + sentence);
    }

    @Test
    void missingOption_isNamedWithWhereToLook() {
        assertThat(CommandRun.by("loadtest", "run", "--engine", "http://127.0.0.1:1", "--sidecar", "http://127.0.0.1:2")
                        .badInput())
                .endsWith("write both --sidecar and --engine-id.");
        assertThat(CommandRun.by("loadtest", "analyze").badInput()).contains("JOURNAL");
        assertThat(CommandRun.by("sidecar").badInput())
                .contains("--config FILE")
                .contains("--print-example");
        assertThat(CommandRun.by("emulate", "--port").badInput()).contains("--port");
    }

    private static CommandRun help(String... args) {
        CommandRun told = CommandRun.by(args);
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        assertThat(told.err()).isEmpty();
        assertThat(told.out().lines())
                .allSatisfy(line -> assertThat(line.length()).as(line).isLessThanOrEqualTo(COLUMNS));
        return told;
    }

    /** The first words below "Commands:". */
    private static List<String> offered(CommandRun told) {
        return offered(told, line -> line.equals("Commands:"));
    }

    private static boolean isHead(String line) {
        return line.endsWith(":") && !line.startsWith(" ");
    }

    /** The first words below heads. */
    private static List<String> offered(CommandRun told, Predicate<String> isHead) {
        return told.out()
                .lines()
                .dropWhile(line -> !isHead.test(line))
                .takeWhile(line -> line.startsWith("  ") || isHead.test(line))
                .filter(line -> !isHead.test(line) && line.charAt(2) != ' ')
                .map(line -> line.strip().split(" ", 2)[0])
                .toList();
    }
}
