package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.ErrorText;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.JsonText;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.ledger.LedgerRelease;
import io.holdfast.sidecar.ledger.LedgerState.Pin;
import io.holdfast.sidecar.ledger.StateDirectory;
import java.io.PrintWriter;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Has everything let go of that ledgers list: by the sidecar that has them, or at the engine itself. */
@Command(
        name = "release",
        description = {
            "Releases every pin that the ledgers list. A sidecar that uses a ledger releases it and stays paused until"
                    + " resume; an unused ledger is released at the engine, each entry by the backend that made it.",
            "Exit code 0: everything is released, 1: something is left, and the output says what to do, 2: it"
                    + " could not be tried."
        },
        sortOptions = false)
final class LedgerReleaseCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private LedgerCommand.Which which = new LedgerCommand.Which();

    @Option(
            names = "--sidecar",
            paramLabel = "URL",
            description = "Address of the API of the sidecar that uses the ledger (default: the address that it"
                    + " wrote beside the ledger).")
    private @Nullable URI sidecar;

    @Option(
            names = "--token-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with its act token (default: the one that the configuration names).")
    private @Nullable String tokenEnv;

    @Option(
            names = "--api-key-env",
            paramLabel = "VARIABLE",
            description =
                    "Environment variable with the engine's key (default: the one that the configuration" + " names).")
    private @Nullable String apiKeyEnv;

    @Option(
            names = "--admin-key-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with the engine's key for pins (default: the one that the"
                    + " configuration names, else that of --api-key-env).")
    private @Nullable String adminKeyEnv;

    @Option(
            names = "--wait",
            paramLabel = "TIME",
            defaultValue = "90s",
            description = "Time to wait for calls that have no answer yet, at least 1s; a pin call may still"
                    + " arrive for 60 s (default: ${DEFAULT-VALUE}).")
    private String wait = "90s";

    @Option(names = "--json", description = "Print one JSON document and nothing else.")
    private boolean json;

    LedgerReleaseCommand() {}

    @Override
    public Integer call() {
        Duration patience = TimeSpan.parse("--wait", wait, Duration.ofSeconds(1));
        StateDirectory directory = which.directory();
        StateDirectory.Told told = new StateDirectory.Told(
                Optional.ofNullable(sidecar),
                Optional.ofNullable(tokenEnv),
                Optional.ofNullable(apiKeyEnv),
                Optional.ofNullable(adminKeyEnv),
                patience);
        List<String> ids = which.ids(directory);
        PrintWriter out = spec.commandLine().getOut();
        if (!json) {
            directory.usualPlace().ifPresent(why -> TerminalText.plain(out).line(directory.path() + " (" + why + ")"));
        }
        ObjectNode root = JsonText.object().put("state", directory.path().toString());
        ArrayNode all = root.putArray("ledgers");
        int code = ExitCode.OK;
        for (String id : ids) {
            try {
                LedgerRelease done = directory.release(id, told);
                all.add(document(done));
                if (!json) {
                    print(done, TerminalText.plain(out));
                    out.flush();
                }
                code = Math.max(code, done.left().isEmpty() ? ExitCode.OK : ExitCode.CHECK_FAILED);
            } catch (SidecarException untried) {
                if (ids.size() == 1) {
                    throw untried;
                }
                // The others are released all the same.
                spec.commandLine().getErr().println("holdfast: " + ErrorText.of(untried.getMessage(), "."));
                all.addObject().put("id", id).put("error", untried.getMessage());
                code = ExitCode.BAD_INPUT;
            }
        }
        if (json) {
            out.println(JsonText.of(root));
            out.flush();
        }
        return code;
    }

    private static void print(LedgerRelease done, TerminalText text) {
        int listed = done.released().size() + done.left().size();
        text.paragraph(
                "",
                done.id() + ": "
                        + (listed == 0
                                ? "nothing is listed, so there was nothing to release."
                                : done.released().size() + " of " + listed + (listed == 1 ? " entry" : " entries")
                                        + " released, by " + done.by() + "."));
        done.released().forEach(pin -> text.line("  released  " + named(pin)));
        done.left().forEach(left -> {
            text.line("  LEFT      " + named(left.pin()));
            text.paragraph("            ", left.why() + (left.why().endsWith(".") ? "" : "."));
        });
        done.mend().ifPresent(mend -> text.paragraph("  ", mend));
        done.notes().forEach(note -> text.paragraph("  ", note));
    }

    private static String named(Pin pin) {
        return "hold " + pin.hold() + "  " + pin.backend() + "  " + LedgerShowCommand.shown(pin);
    }

    private static ObjectNode document(LedgerRelease done) {
        ObjectNode json = JsonText.object().put("id", done.id()).put("by", done.by());
        ArrayNode released = json.putArray("released");
        done.released().forEach(pin -> released.add(LedgerShowCommand.document(pin)));
        ArrayNode left = json.putArray("left");
        done.left()
                .forEach(each -> left.add(LedgerShowCommand.document(each.pin()).put("why", each.why())));
        done.mend().ifPresent(mend -> json.put("mend", mend));
        ArrayNode notes = json.putArray("notes");
        done.notes().forEach(notes::add);
        return json;
    }
}
