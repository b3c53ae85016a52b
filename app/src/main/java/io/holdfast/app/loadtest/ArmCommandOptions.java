package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.session.ArmCommands;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Commands and the secret of an arm, which no journal keeps: a run that goes on needs them written again. */
public final class ArmCommandOptions {
    private static final Set<String> SWITCHES = Set.of("on", "off");

    @Option(
            names = "--arm-command",
            paramLabel = "on=COMMAND off=COMMAND",
            arity = "1..2",
            description = "In place of --hold: commands for the shell, one for pinned and one for baseline legs. They"
                    + " claim no hold, so they are judged by latency alone, without proof by cached tokens.")
    private @Nullable Map<String, String> switches;

    @Option(
            names = "--arm-server-command",
            paramLabel = "COMMAND",
            description = "In place of --hold: this command starts the server in pinned legs, --server-command in"
                    + " baseline legs. Each leg has its own process, and an unmeasured burn-in leg comes first.")
    private @Nullable String server;

    @Option(
            names = "--connector-secret-env",
            paramLabel = "VARIABLE",
            description = "With --hold vllm-connector or release: environment variable with the secret of a vLLM's"
                    + " connector.")
    private @Nullable String connectorSecretEnv;

    ArmCommandOptions() {}

    /**
     * Refuses a secret where none is wanted, and its absence where one is needed.
     *
     * @param taken whether it is used where it is given
     */
    void checkSecret(boolean needed, boolean taken) {
        if (needed && connectorSecretEnv == null) {
            throw new CommandException("The engine's connector holds for who has its secret; write the environment"
                    + " variable that has it, by --connector-secret-env VARIABLE.");
        }
        if (!needed && !taken && connectorSecretEnv != null) {
            throw new CommandException("--connector-secret-env is for --hold vllm-connector or release; leave it out.");
        }
    }

    /** Returns true if the arm is two commands. */
    boolean areSwitches() {
        return switches != null;
    }

    /** The command for the server of pinned legs, where they have one. */
    Optional<String> server() {
        return Optional.ofNullable(server);
    }

    /** The commands, once they are whole. */
    ArmCommands commands() {
        Optional<Map<String, String>> given = Optional.ofNullable(switches);
        given.filter(each -> !SWITCHES.equals(each.keySet())
                        || each.values().stream().anyMatch(String::isBlank))
                .ifPresent(each -> {
                    throw new CommandException("--arm-command has " + String.join(", ", each.keySet())
                            + "; write both on=COMMAND and off=COMMAND.");
                });
        ArmCommands commands = new ArmCommands(
                given.map(each -> each.get("on")).map(String::strip),
                given.map(each -> each.get("off")).map(String::strip),
                server(),
                Optional.empty());
        return secret().map(commands::withConnector).orElse(commands);
    }

    private Optional<String> secret() {
        return Optional.ofNullable(connectorSecretEnv).map(variable -> {
            String secret =
                    Optional.ofNullable(System.getenv(variable)).orElse("").strip();
            if (secret.isEmpty()) {
                throw new CommandException("--connector-secret-env names " + variable
                        + ", in which there is no secret; put that of the engine's connector into it.");
            }
            return secret;
        });
    }

    /** The commands of a run that goes on: those of its arm, and no others. */
    ArmCommands of(ArmPlan arm) {
        boolean another = arm instanceof ArmPlan.AnotherServer;
        if (server().isPresent() != another) {
            throw new CommandException(
                    another
                            ? "Pinned legs of the run have a server that a command started, which a journal cannot make"
                                    + " anybody run; write it again, by --arm-server-command COMMAND."
                            : "The run has no server of its own for pinned legs; leave --arm-server-command out.");
        }
        if (areSwitches() != arm instanceof ArmPlan.Commands) {
            throw new CommandException(
                    areSwitches()
                            ? "The run has no commands as its arm; leave --arm-command out."
                            : "The run has commands as its arm, which a journal cannot make anybody run; write them"
                                    + " again, by --arm-command on=COMMAND off=COMMAND.");
        }
        checkSecret(arm.equals(new ArmPlan.ByEngine(ArmPlan.Means.VLLM_CONNECTOR)), arm instanceof ArmPlan.Release);
        if (arm instanceof ArmPlan.Beside its) {
            ServerAddress.check("--sidecar", its.address());
        }
        return commands();
    }

    /** Returns options that a resumed run needs again. */
    String again() {
        ArmCommands its = commands();
        return its.server()
                        .map(command -> " --arm-server-command " + StatusReport.quoted(command))
                        .orElse("")
                + its.on()
                        .map(on -> " --arm-command on=" + StatusReport.quoted(on))
                        .orElse("")
                + its.off().map(off -> " off=" + StatusReport.quoted(off)).orElse("")
                + Optional.ofNullable(connectorSecretEnv)
                        .map(variable -> " --connector-secret-env " + StatusReport.quoted(variable))
                        .orElse("");
    }

    /** Returns those options by a journal, with placeholders for the commands. */
    public static String again(Optional<ArmPlan> arm) {
        return arm.map(its -> switch (its) {
                    case ArmPlan.Commands _ -> " --arm-command on=COMMAND off=COMMAND";
                    case ArmPlan.AnotherServer _ -> " --arm-server-command COMMAND";
                    case ArmPlan.ByEngine own
                    when own.means() == ArmPlan.Means.VLLM_CONNECTOR -> " --connector-secret-env VARIABLE";
                    case ArmPlan.ByEngine _,
                            ArmPlan.KeepWarm _,
                            ArmPlan.NixlLease _,
                            ArmPlan.Beside _,
                            ArmPlan.Release _ -> "";
                })
                .orElse("");
    }
}
