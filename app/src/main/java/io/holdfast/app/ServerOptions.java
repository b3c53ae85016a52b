package io.holdfast.app;

import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.Fleet;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Whether the load test starts the server that it asks, and how. */
final class ServerOptions {
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]*");
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private enum Restart {
        LIFE,
        RUN
    }

    @Option(
            names = "--server-command",
            paramLabel = "COMMAND",
            description = "Start the server at that address by this command for the shell, and end it with all that it"
                    + " started. {host}, {port}, {model} and the names of --server-set in it stand for values (default:"
                    + " the server is there and stays as it is).")
    private @Nullable String command;

    @Option(
            names = "--server-set",
            paramLabel = "NAME=VALUE",
            description = "A value for {NAME} in the command, as memory=0.8; again for each.")
    private @Nullable Map<String, String> values;

    @Option(
            names = "--server-env",
            paramLabel = "NAME=VALUE",
            description = "An environment variable that the command gets; again for each.")
    private @Nullable Map<String, String> environment;

    @Option(
            names = "--server-unset",
            paramLabel = "NAME",
            description = "An environment variable that the command does not get; again for each.")
    private @Nullable List<String> unset;

    @Option(
            names = "--server-log",
            paramLabel = "FILE",
            description = "Takes what the command writes, of all lives (default: the journal's name with .server.log).")
    private @Nullable Path log;

    @Option(
            names = "--restart",
            paramLabel = "WHEN",
            description = "life: each pair of legs has a process of its own. run: one process serves all (default:"
                    + " life).")
    private @Nullable String restart;

    @Option(
            names = "--server-start-seconds",
            paramLabel = "N",
            defaultValue = "600",
            description = "The most that the server may take until it answers (default: ${DEFAULT-VALUE}).")
    private long startSeconds;

    ServerOptions() {}

    /**
     * The server, once the options agree; nothing is started yet.
     *
     * @param pinned the command for pinned legs, where the arms differ in it
     * @param engines those behind it, where it is a router
     * @param bench told what is being waited for
     */
    ServerUnit unit(
            URI server,
            Optional<String> model,
            Optional<String> pinned,
            List<URI> engines,
            Path journal,
            LoadtestBench bench) {
        ServerUnit unit = unit(server, model, pinned, journal, bench);
        return engines.isEmpty() ? unit : new Fleet(unit, engines);
    }

    private ServerUnit unit(
            URI server, Optional<String> model, Optional<String> pinned, Path journal, LoadtestBench bench) {
        if (pinned.isPresent() && (command == null || restart != null)) {
            throw new CommandException(
                    command == null
                            ? "--arm-server-command is for pinned legs alone; write --server-command for the others."
                            : "With --arm-server-command each leg has a process of its own; leave --restart out.");
        }
        if (command == null) {
            if (values != null || environment != null || unset != null || log != null || restart != null) {
                throw new CommandException("--server-set, --server-env, --server-unset, --server-log and --restart are"
                        + " for a server that is started by --server-command; write that, or leave them out.");
            }
            return new ExistingServer(server);
        }
        Map<String, String> filled = new HashMap<>(values == null ? Map.of() : values);
        check("--server-set", filled, NAME, "lower case letters, digits and hyphens");
        model.ifPresent(name -> filled.putIfAbsent("model", name));
        Map<String, String> variables = environment == null ? Map.of() : environment;
        check("--server-env", variables, VARIABLE, "letters, digits and underscores");
        if (startSeconds < 1 || startSeconds > Duration.ofDays(1).toSeconds()) {
            throw new CommandException("--server-start-seconds is " + startSeconds + "; write 1 to "
                    + Duration.ofDays(1).toSeconds() + ".");
        }
        Path output = log == null ? Path.of(journal + ".server.log") : log;
        LoadtestCommand.checkFolder(output);
        boolean eachLife =
                restart == null || SglangOptions.choice("--restart", restart, Restart.values()) == Restart.LIFE;
        return new StartedServer(
                new StartedServer.Plan(
                        server,
                        command,
                        pinned,
                        filled,
                        variables,
                        unset == null ? Set.of() : Set.copyOf(unset),
                        output,
                        eachLife,
                        Duration.ofSeconds(startSeconds)),
                bench.clock(),
                bench::tell);
    }

    /** What has to be written again where a run goes on; the rest of these options was on the same command line. */
    String again() {
        return command == null ? "" : " --server-command " + StatusReport.quoted(command);
    }

    private static void check(String option, Map<String, String> given, Pattern names, String of) {
        given.keySet().stream()
                .filter(name -> !names.matcher(name).matches())
                .findFirst()
                .ifPresent(name -> {
                    throw new CommandException(
                            option + " has the name '" + name.toLowerCase(Locale.ROOT) + "'; a name is of " + of + ".");
                });
    }
}
