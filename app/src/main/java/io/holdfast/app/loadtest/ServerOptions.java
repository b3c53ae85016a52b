package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OptionValues;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.loadtest.client.ExistingServer;
import io.holdfast.loadtest.client.Fleet;
import io.holdfast.loadtest.client.ServerUnit;
import io.holdfast.loadtest.client.StartedServer;
import io.holdfast.loadtest.client.StartedServer.Restart;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.workbench.matrix.ServerCompare;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Whether the load test starts the server that it asks, and how. */
public final class ServerOptions {
    private static final Pattern NAME = Pattern.compile("[a-z][a-z0-9-]*");
    private static final Pattern VARIABLE = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

    private static final long USUAL_START_SECONDS = 600;
    private static final String BLOCKING = "CUDA_LAUNCH_BLOCKING";

    @Option(
            names = "--server-command",
            paramLabel = "COMMAND",
            description = "Shell command that starts the server at that address; the run ends the server and all"
                    + " that it started. {host}, {port}, {model} and the names of --server-set are replaced by"
                    + " their values (default: the server already runs and is left alone).")
    private @Nullable String command;

    @Option(
            names = "--server-wrapper",
            paramLabel = "COMMAND",
            description = "Command put before --server-command, such as 'nsys profile -o trace'. Legs are then"
                    + " marked as profiled and never judged.")
    private @Nullable String wrapper;

    @Option(
            names = "--server-set",
            paramLabel = "NAME=VALUE",
            description = "A value for {NAME} in the command, as memory=0.8; repeatable.")
    private @Nullable Map<String, String> values;

    @Option(
            names = "--server-env",
            paramLabel = "NAME=VALUE",
            description = "An environment variable that the command gets; repeatable.")
    private @Nullable Map<String, String> environment;

    @Option(
            names = "--server-unset",
            paramLabel = "NAME",
            description = "An environment variable that the command does not get; repeatable.")
    private @Nullable List<String> unset;

    @Option(
            names = "--server-log",
            paramLabel = "FILE",
            description = "File for the output of the command, of all lives (default: the journal's name with"
                    + " .server.log).")
    private @Nullable Path log;

    @FormerName("--restart")
    @Option(
            names = "--restart-per",
            paramLabel = "WHAT",
            description = "life: each pair of legs, or block, has its own process. leg: each leg has its own process,"
                    + " and an unmeasured leg comes first. run: one process serves all legs (default: life).")
    private @Nullable String restart;

    @Option(
            names = "--server-start-seconds",
            paramLabel = "N",
            defaultValue = "" + USUAL_START_SECONDS,
            description = "Longest time until the server answers (default: ${DEFAULT-VALUE}).")
    private long startSeconds;

    public ServerOptions() {}

    /**
     * The server, once the options agree; nothing is started yet.
     *
     * @param pinned the command for pinned legs, where the arms differ in it
     * @param more values for names in the command, before those of the options
     * @param engines those behind it, where it is a router
     * @param bench told what is being waited for
     */
    public ServerUnit unit(
            URI server,
            Optional<String> model,
            Optional<String> pinned,
            List<URI> engines,
            Map<String, String> more,
            Path journal,
            LoadtestBench bench) {
        ServerUnit unit = unit(server, model, pinned, more, journal, bench);
        return engines.isEmpty() ? unit : new Fleet(unit, engines);
    }

    private ServerUnit unit(
            URI server,
            Optional<String> model,
            Optional<String> pinned,
            Map<String, String> more,
            Path journal,
            LoadtestBench bench) {
        if (pinned.isPresent() && (command == null || (restart != null && restart() != Restart.LEG))) {
            throw new CommandException(
                    command == null
                            ? "--arm-server-command is for pinned legs alone; write --server-command for the others."
                            : "With --arm-server-command each leg has a process of its own; leave --restart-per out.");
        }
        if (command == null) {
            more.keySet().stream().findFirst().ifPresent(name -> {
                throw new CommandException("'" + name + "' is no size of the load, and the server is not started here;"
                        + " write --server-command with {" + name + "} in it.");
            });
            if (wrapper != null) {
                throw new CommandException("--server-wrapper is for a server that is started by --server-command; write"
                        + " that, or leave it out.");
            }
            if (values != null || environment != null || unset != null || log != null || restart != null) {
                throw new CommandException(
                        "--server-set, --server-env, --server-unset, --server-log and --restart-per are"
                                + " for a server that is started by --server-command; write that, or leave them out.");
            }
            return new ExistingServer(server);
        }
        refuseUnlikeArms(command, pinned);
        Map<String, String> filled = new HashMap<>(values == null ? Map.of() : values);
        filled.putAll(more);
        check("--server-set", filled, NAME, "lower case letters, digits and hyphens");
        model.ifPresent(name -> filled.putIfAbsent("model", name));
        Map<String, String> variables = environment == null ? Map.of() : environment;
        check("--server-env", variables, VARIABLE, "letters, digits and underscores");
        OptionValues.between(
                "--server-start-seconds", startSeconds, 1, Duration.ofDays(1).toSeconds());
        Path output = log == null ? Path.of(journal + ".server.log") : log;
        JournalOptions.checkFolder(output);
        return new StartedServer(
                new StartedServer.Plan(
                        server,
                        wrapped(command),
                        pinned.map(this::wrapped),
                        filled,
                        variables,
                        unset == null ? Set.of() : Set.copyOf(unset),
                        output,
                        restart(),
                        Duration.ofSeconds(startSeconds)),
                bench.clock(),
                bench::tell);
    }

    private Restart restart() {
        return restart == null ? Restart.LIFE : SglangOptions.choice("--restart-per", restart, Restart.values());
    }

    /** For a command that knows from elsewhere how its servers are started. */
    public void refuse(String from) {
        if (command != null
                || wrapper != null
                || values != null
                || environment != null
                || unset != null
                || log != null
                || restart != null) {
            throw new CommandException(from + " how each server is started; write it there, and leave --server-command,"
                    + " --server-wrapper, --server-set, --server-env, --server-unset, --server-log and --restart-per"
                    + " out.");
        }
    }

    /** For a command that ends in a verdict and has no way of giving none. */
    public void refuseProfiler(String otherwise) {
        if (wrapper != null) {
            throw new CommandException(
                    "A profiler takes of the time that it measures, so nothing is judged by it; leave"
                            + " --server-wrapper out, or profile " + otherwise + ".");
        }
    }

    /** Whether the load test starts the server. */
    public boolean isStarted() {
        return command != null;
    }

    /** Whether each leg was asked to have a process of its own. */
    boolean isPerLeg() {
        return restart() == Restart.LEG;
    }

    /** The profiler that the server runs under. */
    public Optional<String> wrapper() {
        return Optional.ofNullable(wrapper);
    }

    /** The profiler takes the program and its arguments as they are written, so the command begins with the program. */
    private String wrapped(String its) {
        return wrapper == null ? its : wrapper.strip() + " " + its;
    }

    /** It changes what is measured, and is nothing that anybody would mean arms to differ in. */
    private static void refuseUnlikeArms(String command, Optional<String> pinned) {
        if (pinned.isPresent() && command.contains(BLOCKING) != pinned.get().contains(BLOCKING)) {
            throw new CommandException("Only one of --server-command and --arm-server-command has " + BLOCKING
                    + ", which changes what is measured; write it in both, or by --server-env.");
        }
    }

    /** Returns options that a resumed run needs again, since no journal has them. What may be secret is named alone. */
    public String again() {
        if (command == null) {
            return "";
        }
        StringBuilder again = new StringBuilder(" --server-command " + StatusReport.quoted(command));
        wrapper().ifPresent(its -> again.append(" --server-wrapper ").append(StatusReport.quoted(its)));
        each(again, "--server-set", values);
        Map<String, String> told = new TreeMap<>(environment == null ? Map.of() : environment);
        told.replaceAll((name, value) -> ServerCompare.isSecret(name) ? "VALUE" : value);
        each(again, "--server-env", told);
        (unset == null ? List.<String>of() : unset)
                .forEach(name -> again.append(" --server-unset ").append(StatusReport.quoted(name)));
        if (log != null) {
            again.append(" --server-log ").append(StatusReport.quoted(log.toString()));
        }
        if (restart() != Restart.LIFE) {
            again.append(" --restart-per ").append(restart().name().toLowerCase(Locale.ROOT));
        }
        if (startSeconds != USUAL_START_SECONDS) {
            again.append(" --server-start-seconds ").append(startSeconds);
        }
        return again.toString();
    }

    /** The same as far as a journal tells it. */
    public static String again(RunHeader header) {
        LoadTestPlan test = header.test();
        Optional<String> profiler = test.profiler().map(its -> " --server-wrapper " + StatusReport.quoted(its));
        String command = header.freshLives() || profiler.isPresent() ? " --server-command COMMAND" : "";
        boolean another =
                test.target().map(LoadTestPlan.Target::arm).orElseGet(ArmPlan::none) instanceof ArmPlan.AnotherServer;
        String perLeg = test.freshLegs() && !another ? " --restart-per leg" : "";
        return command
                + profiler.orElse("")
                + (header.freshLives() || command.isEmpty() ? perLeg : " --restart-per run");
    }

    private static void each(StringBuilder again, String option, @Nullable Map<String, String> given) {
        new TreeMap<>(given == null ? Map.of() : given)
                .forEach((name, value) ->
                        again.append(' ').append(option).append(' ').append(StatusReport.quoted(name + "=" + value)));
    }

    /** The server of a run that goes on is started as the one that it began with, or is there as that one was. */
    public void refuseAnother(ServerUnit unit, RunHeader header) {
        if (unit.givesFreshLegs() != header.test().freshLegs()) {
            throw new CommandException(
                    header.test().freshLegs()
                            ? "The run started a server for each leg; write its --server-command again, with"
                                    + " --restart-per leg."
                            : "The run did not start a server for each leg; leave --restart-per leg out.");
        }
        if (unit.givesFreshLives() != header.freshLives()) {
            throw new CommandException(
                    header.freshLives()
                            ? "The run started a server for each pair; write its --server-command again."
                            : "The run was at one server that served all pairs; leave --server-command out, or write"
                                    + " --restart-per run.");
        }
        if (wrapper().isPresent() != header.test().profiler().isPresent()) {
            throw new CommandException(header.test()
                    .profiler()
                    .map(its -> "The server of the run was under a profiler; write --server-wrapper "
                            + StatusReport.quoted(its) + " again, with its --server-command.")
                    .orElse("The server of the run was under no profiler, and legs under one are never judged; leave"
                            + " --server-wrapper out, or begin a run with it."));
        }
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
