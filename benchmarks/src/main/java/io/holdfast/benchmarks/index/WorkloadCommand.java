package io.holdfast.benchmarks.index;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Writes a workload file. */
@Command(
        name = "workload",
        description = {
            "Writes a workload file: what engines announce, then what a router asks.",
            "Without --trace the traffic is sessions under shared system prompts; the same options give the same bytes."
        },
        sortOptions = false)
final class WorkloadCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "FILE", description = "The file to write.")
    private Path file = Path.of("");

    @Option(names = "--engines", paramLabel = "N", defaultValue = "8", description = "Engines (default: 8).")
    private int engines;

    @Option(
            names = "--capacity",
            paramLabel = "N",
            defaultValue = "100000",
            description = "Blocks that one engine's cache holds (default: 100000).")
    private int capacity;

    @Option(
            names = "--blocks",
            paramLabel = "N",
            defaultValue = "10000000",
            description = "Stop when so many blocks were stored and removed (default: 10000000).")
    private long blocks;

    @Option(
            names = "--queries",
            paramLabel = "N",
            defaultValue = "50000",
            description = "How many paths a router asks for (default: 50000).")
    private int queries;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "42", description = "Of the traffic (default: 42).")
    private long seed;

    @Option(names = "--holes", description = "Caches evict anywhere and not what was used least recently.")
    private boolean holes;

    @Option(
            names = "--trace",
            paramLabel = "JSONL",
            description =
                    "The requests of a Mooncake trace (hash_ids in each line; .gz is unpacked) in place of sessions.")
    private @Nullable Path trace;

    WorkloadCommand() {}

    @Override
    public Integer call() {
        if (engines < 1 || engines > 1 << 16 || capacity < 1024 || blocks < 1 || queries < 0) {
            throw new BenchException("--engines is 1 to 65536, --capacity at least 1024, --blocks at least 1 and"
                    + " --queries not negative.");
        }
        try (WorkloadWriter out = new WorkloadWriter(file, engines)) {
            Engines caches = new Engines(out, engines, capacity, holes, seed);
            Optional<Path> given = Optional.ofNullable(trace);
            if (given.isPresent()) {
                new TraceTraffic(given.get(), seed).write(caches, out, engines, queries);
            } else {
                new SessionTraffic(engines, seed).write(caches, out, blocks, queries);
            }
            // Blocks that the indexes hold at the end, to divide their memory by.
            Files.writeString(Path.of(file + ".held"), caches.held() + "\n");
            spec.commandLine().getOut().println(out.summary() + " held=" + caches.held());
            return 0;
        } catch (IOException e) {
            throw new BenchException(file + " cannot be written: " + e.getMessage() + ".", e);
        }
    }
}
