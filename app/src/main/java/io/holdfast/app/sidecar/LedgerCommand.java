package io.holdfast.app.sidecar;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.FormerName;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.ledger.StateDirectory;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The ledgers of a state directory, beside whatever runs: shown, or let go of. */
@Command(
        name = "ledger",
        description = {
            "Shows or releases what engines may have pinned for Holdfast, from the ledgers of a state directory. It"
                    + " works with a dead engine, with a running sidecar, and with any backend in the configuration."
        },
        synopsisSubcommandLabel = "COMMAND",
        subcommands = {LedgerShowCommand.class, LedgerReleaseCommand.class})
public final class LedgerCommand implements Runnable {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    LedgerCommand() {}

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }

    /** Which ledgers: what both subcommands are told. */
    static final class Which {
        @FormerName("--state")
        @Option(
                names = "--state-directory",
                paramLabel = "DIR",
                description = "State directory, stateDirectory of the sidecar's configuration (default: the default"
                        + " state directory of this user's sidecar).")
        private @Nullable Path state;

        @Option(
                names = "--config",
                paramLabel = "FILE",
                description = "The sidecar's configuration, in place of --state-directory; it names the directory"
                        + " and the variables of the engines' keys.")
        private @Nullable Path config;

        @Option(
                names = "--engine-id",
                paramLabel = "ID",
                description = "Id of the one engine whose ledger is meant (default: every ledger in the directory).")
        private @Nullable String id;

        Which() {}

        StateDirectory directory() {
            Optional<Path> directory = Optional.ofNullable(state);
            Optional<Path> file = Optional.ofNullable(config);
            if (directory.isPresent() && file.isPresent()) {
                throw new CommandException(
                        "--state-directory and --config both name a state directory; give one of them.");
            }
            return directory
                    .map(StateDirectory::at)
                    .or(() -> file.map(SidecarConfig::load).map(StateDirectory::of))
                    .orElseGet(() -> StateDirectory.usual(System.getenv()));
        }

        /** The ids of the ledgers that are meant; at least one. */
        List<String> ids(StateDirectory directory) {
            List<String> all = directory.ids();
            Optional<String> one = Optional.ofNullable(id);
            if (all.isEmpty()) {
                throw new CommandException("there is no ledger in " + directory.path()
                        + directory.usualPlace().map(why -> " (" + why + ")").orElse("")
                        + ", so nothing was ever pinned from there; see that it is the sidecar's stateDirectory.");
            }
            if (one.isPresent() && !all.contains(one.get())) {
                throw new CommandException("--engine-id is '" + one.get() + "'; in " + directory.path()
                        + " are ledgers of " + String.join(", ", all) + ".");
            }
            return one.map(List::of).orElse(all);
        }
    }
}
