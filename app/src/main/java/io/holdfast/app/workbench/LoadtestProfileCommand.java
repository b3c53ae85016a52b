package io.holdfast.app.workbench;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.workbench.bed.ProfilerTable;
import io.holdfast.workbench.bed.ProfilerTable.Counter;
import io.holdfast.workbench.bed.ProfilerTable.Kernel;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalDouble;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** What a profiler exported, as text. */
@Command(
        name = "profile",
        description = {
            "Shows tables exported by profilers ('nsys stats --report cuda_gpu_kern_sum --format csv', 'ncu"
                    + " --csv') as a tree of kernels; with --first and --second two groups of kernels beside each"
                    + " other. Missing measurements are named; conclusions follow only the printed rule."
        },
        sortOptions = false)
public final class LoadtestProfileCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Parameters(paramLabel = "TABLE", arity = "1..*", description = "The files.")
    private List<Path> tables = List.of();

    @Option(
            names = "--kernels",
            paramLabel = "REGEX",
            defaultValue = "",
            description = "Show only kernels whose names match, as attention.")
    private String kernels = "";

    @Option(
            names = "--first",
            paramLabel = "REGEX",
            description = "Kernels of the first column, such as those of prefill: flash.*prefill.")
    private @Nullable String first;

    @Option(names = "--second", paramLabel = "REGEX", description = "Kernels of the second column, such as decode.")
    private @Nullable String second;

    @Option(
            names = "--journal",
            paramLabel = "FILE",
            description = "Journal of the run whose server was profiled; its legs are named above the tables.")
    private @Nullable Path journal;

    @Option(names = "--json", description = "One JSON document on standard output.")
    private boolean json;

    LoadtestProfileCommand() {}

    @Override
    public Integer call() {
        if ((first == null) != (second == null)) {
            throw new CommandException("--first and --second are written together; write both, or neither.");
        }
        List<ProfilerTable> all = tables.stream()
                .map(ProfilerTable::read)
                .map(table -> table.only(kernels))
                .toList();
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of(document(all)));
        } else {
            print(all, out);
        }
        out.flush();
        return ExitCode.OK;
    }

    private void print(List<ProfilerTable> all, PrintWriter out) {
        if (journal != null) {
            Journal.Contents run = Journal.read(journal);
            out.println(run.header()
                    .test()
                    .profiler()
                    .map(by -> "The legs of " + journal + ", profiled by: " + by)
                    .orElse("The run of " + journal + " was not profiled: these tables are of another one."));
            run.legs().stream().map(LegRecord::label).forEach(leg -> out.println("  " + leg));
            out.println();
        }
        for (ProfilerTable table : all) {
            if (first != null && second != null) {
                out.println(table.source() + ", means over launches");
                table.only(first).beside(table.only(second), "first", "second").forEach(out::println);
            } else {
                table.tree().lines().forEach(out::println);
            }
            out.println();
        }
        if (first != null && second != null) {
            out.println("first: " + first + "; second: " + second);
        }
    }

    private ObjectNode document(List<ProfilerTable> all) {
        ObjectNode root = JsonText.object().put("format", 1);
        ArrayNode files = root.putArray("tables");
        for (ProfilerTable table : all) {
            ObjectNode one = files.addObject().put("source", table.source());
            ArrayNode its = one.putArray("kernels");
            for (Kernel kernel : table.kernels()) {
                ObjectNode values = its.addObject().put("name", kernel.name()).put("launches", kernel.launches());
                if (!kernel.range().isEmpty()) {
                    values.put("range", kernel.range());
                }
                kernel.memoryBound().ifPresent(bound -> values.put("memoryBound", bound));
                ObjectNode numbers = values.putObject("values");
                kernel.values().forEach(numbers::put);
            }
            if (first != null && second != null) {
                ObjectNode counters = one.putObject("counters");
                for (Counter counter : Counter.values()) {
                    ObjectNode both = counters.putObject(counter.name().toLowerCase(Locale.ROOT));
                    put(both, "first", table.only(first).mean(counter));
                    put(both, "second", table.only(second).mean(counter));
                }
            }
        }
        return root;
    }

    private static void put(ObjectNode node, String name, OptionalDouble value) {
        value.ifPresent(number -> node.put(name, number));
    }
}
