package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.workbench.load.DrawnLoad;
import io.holdfast.workbench.load.Recipe;
import io.holdfast.workbench.load.RecipeFile;
import io.holdfast.workbench.load.Suite;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** One load, no arms, no verdict. */
@Command(
        name = "leg",
        description = {
            "Sends loads that a file describes to any server with an OpenAI API, and reports throughput,"
                    + " latencies and errors of each. Nothing is held and nothing is judged; 'loadtest compare'"
                    + " sets two of them beside each other.",
            "Exit code 1 when a request failed."
        },
        footer = {"", "Examples:", "  holdfast loadtest leg --engine http://127.0.0.1:8000 --recipe loads.yaml"},
        sortOptions = false)
public final class LoadtestLegCommand implements Callable<Integer> {
    private static final int MOST_REPEATS = 1_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--recipe",
            paramLabel = "FILE",
            required = true,
            description = "File of loads in YAML, one document each, with 'name' and 'parts'.")
    private Path recipe = Path.of("");

    @Option(
            names = "--load",
            paramLabel = "NAME,NAME",
            hideParamSyntax = true,
            split = ",",
            description = "Names of the loads to send (default: all in the file).")
    private @Nullable List<String> loads;

    @Option(
            names = "--repeat",
            paramLabel = "N",
            defaultValue = "1",
            description =
                    "Number of times that each load is sent, with the same requests (default:" + " ${DEFAULT-VALUE}).")
    private int repeat;

    @Mixin
    private SuiteOptions suite = new SuiteOptions();

    LoadtestLegCommand() {}

    @Override
    public Integer call() {
        if (repeat < 1 || repeat > MOST_REPEATS) {
            throw new CommandException("--repeat is 1 to " + MOST_REPEATS + ", not " + repeat + ".");
        }
        List<Recipe> recipes = chosen(RecipeFile.read(recipe));
        List<Suite.Leg> legs = new ArrayList<>();
        for (int again = 1; again <= repeat; again++) {
            for (Recipe each : recipes) {
                legs.add(new Suite.Leg(
                        repeat == 1 ? each.name() : each.name() + "/pass" + again,
                        DrawnLoad.of(each),
                        each.settings()));
            }
        }
        return suite.run(spec.commandLine(), new Legs(legs, suite));
    }

    /** The loads of a file, one leg after the other. */
    private record Legs(List<Suite.Leg> legs, SuiteOptions suite) implements SuiteJob {
        @Override
        public String name() {
            return "leg";
        }

        @Override
        public Planned plan(Seat seat) {
            return Planned.of(Map.of(), legs, seat);
        }

        @Override
        public int finish(Over over) {
            over.results().write(over.file());
            if (suite.output().isJson()) {
                over.out().print(over.results().text());
                return ExitCode.OK;
            }
            int code = SuiteOptions.print(over.results(), over.folder().legs(), over.out());
            TerminalText.plain(over.out()).text(suite.saved(over.folder()));
            return code;
        }
    }

    private List<Recipe> chosen(List<Recipe> all) {
        List<String> names = loads;
        if (names == null) {
            return all;
        }
        List<Recipe> chosen = new ArrayList<>();
        for (String name : names) {
            chosen.add(all.stream()
                    .filter(each -> each.name().equals(name))
                    .findFirst()
                    .orElseThrow(() -> new CommandException("--load is '" + name + "'; the file has "
                            + all.stream().map(Recipe::name).collect(Collectors.joining(", ")) + ".")));
        }
        return chosen;
    }
}
