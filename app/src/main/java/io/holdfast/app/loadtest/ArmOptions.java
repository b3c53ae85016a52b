package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.session.ArmCommands;
import io.holdfast.sidecar.config.EngineConfig;
import java.net.URI;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** What pinned legs do that baseline legs do not. */
public final class ArmOptions {
    /** The leases that a sidecar takes as well, in seconds. */
    private static final int SHORTEST_LEASE = 15;

    private static final int LONGEST_LEASE = 600;

    /** The arms that have a name. */
    private enum Hold {
        SESSION,
        KEEP_WARM,
        PIN_ROUTE,
        PIN_TOLD,
        NONE,
        SIDECAR,
        AUTOMATIC,
        EVERYTHING,
        VLLM_CONNECTOR,
        NIXL_LEASE,
        STREAMING_SESSION,
        RELEASE
    }

    @Option(
            names = "--hold",
            paramLabel = "NAME",
            description = "Way to hold the prefix in pinned legs. session: SGLang's sessions, with"
                    + " --enable-session-radix-cache. keep-warm: touches during floods, on any engine that"
                    + " caches prefixes. pin-route: the pin route of SGLang's branches. pin-told: the same"
                    + " route, for all blocks that KV events report. none: nothing is held. sidecar: the"
                    + " sidecar at --sidecar holds it on request. automatic: that sidecar holds"
                    + " automatically, and is paused in baseline legs. everything: the prefix and all texts"
                    + " that begin with it, by session or pin. vllm-connector, nixl-lease, streaming-session: the"
                    + " sidecar's ways of these names, without a sidecar. release: a context that nobody asks for"
                    + " again is held, and given back before the floods in pinned legs (default: sidecar where"
                    + " --sidecar is given).")
    private @Nullable String hold;

    @Option(
            names = "--touch-every",
            paramLabel = "N",
            defaultValue = "2",
            description = "With --hold keep-warm: requests of a flood that end between two touches (default:"
                    + " ${DEFAULT-VALUE}).")
    private int touchEvery;

    @Option(
            names = "--nixl-lease-seconds",
            paramLabel = "N",
            description = "With --hold nixl-lease: the engine's kv_lease_duration (default: 30).")
    private @Nullable Integer nixlLeaseSeconds;

    @Option(
            names = "--held-tokens",
            paramLabel = "N",
            description = "With --hold release: tokens of the context that nobody asks for again (default: a fifth of"
                    + " the cache).")
    private @Nullable Integer heldTokens;

    @Option(names = "--sidecar", paramLabel = "URL", description = "The sidecar's HTTP address.")
    private @Nullable URI sidecar;

    @Option(names = "--engine-id", paramLabel = "ID", description = "The engine's id in the sidecar's configuration.")
    private @Nullable String engineId;

    @Option(
            names = "--arm-claims-hold",
            description = "Declare that the command holds the prefix, whose token ids are in the file $HOLDFAST_PREFIX."
                    + " Cached tokens must then prove it.")
    private boolean claimsHold;

    @Mixin
    private ArmCommandOptions commands = new ArmCommandOptions();

    public ArmOptions() {}

    /** The commands that the arm needs, beside its plan. */
    public ArmCommands commands() {
        return commands.commands();
    }

    /** Returns options that a resumed run needs again. */
    String again() {
        return commands.again();
    }

    /**
     * The arm that was asked for, once the options agree.
     *
     * @param floodRequests of one flood
     * @param fleet whether a router has several engines behind it
     */
    public ArmPlan plan(int floodRequests, boolean fleet) {
        ArmPlan arm = plan(floodRequests);
        if (fleet && arm.isOfOneEngine()) {
            throw new CommandException("--hold " + SglangOptions.name(chosen())
                    + " asks one engine for its own means, and a router is before several; write keep-warm, sidecar,"
                    + " none or --arm-command.");
        }
        return arm;
    }

    private ArmPlan plan(int floodRequests) {
        boolean another = commands.server().isPresent();
        if (commands.areSwitches() && another) {
            throw new CommandException("--arm-command and --arm-server-command are two arms; leave one out.");
        }
        if (!commands.areSwitches() && claimsHold) {
            throw new CommandException("--arm-claims-hold is for --arm-command; leave it out.");
        }
        if (commands.areSwitches() || another) {
            if (hold != null || sidecar != null || engineId != null) {
                throw new CommandException((another ? "--arm-server-command" : "--arm-command")
                        + " is an arm of its own; leave --hold and --sidecar out.");
            }
            return another ? new ArmPlan.AnotherServer() : new ArmPlan.Commands(claimsHold);
        }
        Hold chosen = chosen();
        check("--held-tokens", heldTokens, Hold.RELEASE, chosen);
        check("--nixl-lease-seconds", nixlLeaseSeconds, Hold.NIXL_LEASE, chosen);
        commands.checkSecret(chosen == Hold.VLLM_CONNECTOR, chosen == Hold.RELEASE);
        boolean beside = chosen == Hold.SIDECAR || chosen == Hold.AUTOMATIC;
        if (!beside && (sidecar != null || engineId != null)) {
            throw new CommandException("--sidecar and --engine-id are for --hold sidecar or automatic, and this is "
                    + SglangOptions.name(chosen) + "; leave them out.");
        }
        return switch (chosen) {
            case KEEP_WARM -> keepWarm(floodRequests);
            case SIDECAR, AUTOMATIC -> beside(chosen == Hold.AUTOMATIC);
            case NIXL_LEASE -> nixlLease();
            case RELEASE -> release();
            case SESSION, PIN_ROUTE, PIN_TOLD, EVERYTHING, VLLM_CONNECTOR, STREAMING_SESSION, NONE ->
                new ArmPlan.ByEngine(ArmPlan.Means.valueOf(chosen.name()));
        };
    }

    /** Refuses an option of one arm with another one. */
    private static void check(String option, @Nullable Integer value, Hold its, Hold chosen) {
        if (value != null && chosen != its) {
            throw new CommandException(option + " is for --hold " + SglangOptions.name(its) + ", and this is "
                    + SglangOptions.name(chosen) + "; leave it out.");
        }
    }

    private Hold chosen() {
        if (hold != null) {
            return SglangOptions.choice("--hold", hold, Hold.values());
        }
        if (sidecar == null) {
            throw new CommandException("Nothing is named that holds the prefix in pinned legs; write --hold session,"
                    + " keep-warm, vllm-connector, everything or none, --sidecar with --engine-id, --arm-command or"
                    + " --arm-server-command.");
        }
        return Hold.SIDECAR;
    }

    private ArmPlan keepWarm(int floodRequests) {
        if (touchEvery < 1 || touchEvery >= floodRequests) {
            throw new CommandException("--touch-every is " + touchEvery + ", and a flood has " + floodRequests
                    + " requests; write at least 1, and fewer than a flood has.");
        }
        return new ArmPlan.KeepWarm(touchEvery);
    }

    private ArmPlan nixlLease() {
        int seconds = nixlLeaseSeconds == null ? (int) EngineConfig.NIXL_LEASE.toSeconds() : nixlLeaseSeconds;
        if (seconds < SHORTEST_LEASE || seconds > LONGEST_LEASE) {
            throw new CommandException("--nixl-lease-seconds is " + seconds + "; write the engine's kv_lease_duration, "
                    + SHORTEST_LEASE + " to " + LONGEST_LEASE + ".");
        }
        return new ArmPlan.NixlLease(seconds);
    }

    private ArmPlan release() {
        Optional<Integer> held = Optional.ofNullable(heldTokens);
        if (held.filter(tokens -> tokens < 1).isPresent()) {
            throw new CommandException("--held-tokens is " + heldTokens + "; write 1 or more.");
        }
        return new ArmPlan.Release(held);
    }

    private ArmPlan beside(boolean automatic) {
        if (sidecar == null || engineId == null) {
            throw new CommandException("A sidecar holds by its address and the engine's id in its configuration; write"
                    + " both --sidecar and --engine-id.");
        }
        ServerAddress.check("--sidecar", sidecar);
        return new ArmPlan.Beside(sidecar, engineId, automatic);
    }
}
