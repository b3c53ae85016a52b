package io.holdfast.benchmarks.index;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** The block index on a workload file. */
@Command(
        name = "index",
        description = {
            "The block index on a workload file: what engines announced, then what a router asks.",
            "One engine's blocks are named by its hashes, several engines' by content chain, each with hashes of its"
                    + " own. Prints one line of figures; exits 1 when an answer was torn."
        },
        footer = {
            "",
            "Modes:",
            "  bench  three ingests and their median, then queries; rates by wall and CPU",
            "  check  checksums of all answers at ten points of the ingest",
            "  mem    bytes on the heap when everything has been streamed into the index",
            "  mixed  a writer and a reader at once, against each of them alone"
        },
        sortOptions = false)
final class IndexCommand implements Callable<Integer> {
    private static final int TORN = 1;

    private enum Mode {
        BENCH,
        CHECK,
        MEM,
        MIXED
    }

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(index = "0", paramLabel = "MODE", converter = Modes.class, description = "bench, check, mem or mixed.")
    private Mode mode = Mode.BENCH;

    @Parameters(index = "1", paramLabel = "FILE", description = "A workload file of format KVWL0001.")
    private Path file = Path.of("");

    @Option(
            names = "--queries",
            paramLabel = "N",
            defaultValue = "50000",
            description = "How many of the file's queries are asked by bench and mixed (default: ${DEFAULT-VALUE}).")
    private int queries;

    @Option(names = "--json", description = "The figures as a JSON object.")
    private boolean json;

    IndexCommand() {}

    @Override
    public Integer call() {
        if (queries < 1) {
            throw new BenchException("--queries is " + queries + "; ask at least one.");
        }
        IndexBench bench = new IndexBench(TreeIndex::new);
        Figures figures = switch (mode) {
            case BENCH -> bench.bench(file, queries);
            case CHECK -> bench.check(file);
            case MEM -> bench.mem(file);
            case MIXED -> new MixedBench(TreeIndex::new).run(file, queries);
        };
        spec.commandLine().getOut().println(json ? figures.json() : figures.toString());
        return figures.isZero("torn") ? 0 : TORN;
    }

    /** Names the modes as they are typed. */
    private static final class Modes implements ITypeConverter<Mode> {
        @Override
        public Mode convert(String word) {
            for (Mode mode : Mode.values()) {
                if (mode.name().toLowerCase(Locale.ROOT).equals(word)) {
                    return mode;
                }
            }
            throw new TypeConversionException("'" + word + "' is no mode; use bench, check, mem or mixed");
        }
    }
}
