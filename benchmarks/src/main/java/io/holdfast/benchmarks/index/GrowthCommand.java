package io.holdfast.benchmarks.index;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Many blocks against few. */
@Command(
        name = "growth",
        description = {
            "The block index with many blocks against few: ingest until full, ingest when full, and the worst single"
                    + " request in CPU of its thread, growing included.",
            "Needs no file. One line for one engine by its hashes, one for several by content chain."
        },
        sortOptions = false)
final class GrowthCommand implements Callable<Integer> {
    private static final int LEAST = 1_024;
    private static final int MOST = 100_000_000;
    private static final int SEVERAL = 8;
    private static final int OPERATIONS_PER_ROUND = 2_000_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--few",
            paramLabel = "N",
            defaultValue = "100000",
            description = "Blocks of the small index (default: ${DEFAULT-VALUE}).")
    private int few;

    @Option(
            names = "--many",
            paramLabel = "N",
            defaultValue = "10000000",
            description = "Blocks of the large index (default: ${DEFAULT-VALUE}).")
    private int many;

    @Option(names = "--json", description = "Each line is a JSON object.")
    private boolean json;

    GrowthCommand() {}

    @Override
    public Integer call() {
        if (few < LEAST || many > MOST || few > many) {
            throw new BenchException("--few and --many are " + LEAST + " to " + MOST + " and in this order, not " + few
                    + " and " + many + ".");
        }
        GrowthBench bench = new GrowthBench(TreeIndex::new, OPERATIONS_PER_ROUND);
        for (int engines : new int[] {1, SEVERAL}) {
            Figures figures = bench.run(engines, few, many);
            spec.commandLine().getOut().println(json ? figures.json() : figures.toString());
        }
        return 0;
    }
}
