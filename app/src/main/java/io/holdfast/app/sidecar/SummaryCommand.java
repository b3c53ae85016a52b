package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.sidecar.client.OverviewCalls;
import java.io.PrintWriter;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** One sentence for each engine of a running sidecar. */
@Command(
        name = "summary",
        description = {
            "Prints one sentence for each engine of a running sidecar: what it holds, what that saved, how certain that"
                    + " is, and what is missing. The sidecar writes the same into its log every ten minutes.",
            "Exit code 0: printed, 2: no sidecar answers."
        },
        sortOptions = false)
public final class SummaryCommand implements Callable<Integer> {
    private static final List<String> FIELDS = List.of("id", "verdict", "says", "sentence", "summary", "needs");

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private OverviewOptions which = new OverviewOptions();

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    SummaryCommand() {}

    @Override
    public Integer call() {
        JsonNode overview;
        try (OverviewCalls calls = which.open()) {
            overview = calls.overview(Optional.empty());
        }
        PrintWriter out = spec.commandLine().getOut();
        if (json) {
            out.println(JsonText.of(document(overview)));
        } else {
            TerminalText text = TerminalText.plain(out);
            overview.path("engines")
                    .forEach(engine -> text.paragraph("", engine.path("summary").asText()));
        }
        out.flush();
        return ExitCode.OK;
    }

    private static ObjectNode document(JsonNode overview) {
        ObjectNode root = JsonText.object().put("at", overview.path("at").asText());
        ArrayNode engines = root.putArray("engines");
        overview.path("engines").forEach(engine -> {
            ObjectNode told = engines.addObject();
            FIELDS.stream().filter(engine::has).forEach(field -> told.set(field, engine.path(field)));
        });
        return root;
    }
}
