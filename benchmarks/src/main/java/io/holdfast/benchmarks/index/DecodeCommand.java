package io.holdfast.benchmarks.index;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Frames of real engines, from bytes to tree. */
@Command(
        name = "decode",
        description = {
            "Recorded frames of real engines from the wire's bytes to the block tree: millions of blocks stored and"
                    + " removed a second and core.",
            "One line for each recording: mops_cpu into a tree by the engine's hashes, chain_mops_cpu into one by"
                    + " content chain, decode_mops_cpu without a tree."
        },
        sortOptions = false)
final class DecodeCommand implements Callable<Integer> {
    private static final int MOST_ROUNDS = 1000;
    private static final int BLOCKS_PER_ROUND = 400_000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(names = "--set", paramLabel = "NAME", description = "Only this recording; may be repeated.")
    private List<String> names = List.of();

    @Option(
            names = "--rounds",
            paramLabel = "N",
            defaultValue = "9",
            description = "Each figure is the median of so many rounds (default: ${DEFAULT-VALUE}).")
    private int rounds;

    @Option(names = "--json", description = "Each line is a JSON object.")
    private boolean json;

    DecodeCommand() {}

    @Override
    public Integer call() {
        if (rounds < 1 || rounds > MOST_ROUNDS) {
            throw new BenchException("--rounds is 1 to " + MOST_ROUNDS + ", not " + rounds + ".");
        }
        List<Frames> sets = DecodeBench.sets();
        List<String> known = sets.stream().map(Frames::name).toList();
        for (String name : names) {
            if (!known.contains(name)) {
                throw new BenchException("There is no recording \"" + name + "\"; use "
                        + known.stream().collect(Collectors.joining(", ")) + ".");
            }
        }
        DecodeBench bench = new DecodeBench(rounds, BLOCKS_PER_ROUND);
        for (Frames frames : sets) {
            if (names.isEmpty() || names.contains(frames.name())) {
                Figures figures = bench.run(frames);
                spec.commandLine().getOut().println(json ? figures.json() : figures.toString());
            }
        }
        return 0;
    }
}
