package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ServerAddress;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.loadtest.arm.Arms;
import io.holdfast.loadtest.client.AutomaticHolds;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpEngine;
import io.holdfast.loadtest.client.SidecarHolder;
import io.holdfast.loadtest.journal.EngineFacts.Family;
import io.holdfast.loadtest.journal.RunHeader;
import io.holdfast.loadtest.run.ArmSwitch;
import io.holdfast.loadtest.run.RunClock;
import java.net.URI;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** What pinned legs do that baseline legs do not. */
public final class ArmOptions {
    private static final Set<String> SWITCHES = Set.of("on", "off");
    private static final String HOLD = "hold";
    private static final String TOUCH_EVERY = "touch-every";
    private static final String SIDECAR = "sidecar";
    private static final String ENGINE_ID = "engine-id";
    private static final String ARM_COMMAND = "arm-command";
    private static final Duration LEASE = Duration.ofHours(1);

    /** The arms that have a name. */
    private enum Hold {
        SESSION,
        KEEP_WARM,
        PIN_ROUTE,
        PIN_TOLD,
        NONE,
        SIDECAR,
        AUTOMATIC,
        EVERYTHING
    }

    private static final Set<Hold> IN_ONE_ENGINE =
            EnumSet.of(Hold.SESSION, Hold.PIN_ROUTE, Hold.PIN_TOLD, Hold.EVERYTHING);

    @Option(
            names = "--hold",
            paramLabel = "NAME",
            description =
                    "session: SGLang's own, with --enable-session-radix-cache. keep-warm: touches during floods, on"
                        + " any engine that caches prefixes. pin-route: SGLang's branches that pin. pin-told: the same"
                        + " for all blocks that its KV events tell of. none: nothing is held. sidecar: the one at"
                        + " --sidecar holds it. automatic: that one decides by itself, and is paused in baseline legs."
                        + " everything: the prefix and all texts with it, by session or pin (default: sidecar where"
                        + " --sidecar is given).")
    private @Nullable String hold;

    @Option(
            names = "--touch-every",
            paramLabel = "N",
            defaultValue = "2",
            description = "keep-warm: requests of a flood that end from one touch to the next (default:"
                    + " ${DEFAULT-VALUE}).")
    private int touchEvery;

    @Option(names = "--sidecar", paramLabel = "URL", description = "The sidecar's HTTP address.")
    private @Nullable URI sidecar;

    @Option(names = "--engine-id", paramLabel = "ID", description = "The engine's id in the sidecar's configuration.")
    private @Nullable String engineId;

    @Option(
            names = "--arm-command",
            paramLabel = "on=COMMAND off=COMMAND",
            arity = "1..2",
            description = "In place of --hold: commands for the shell, one for pinned and one for baseline legs. They"
                    + " claim to hold nothing, so cached tokens prove nothing for or against them.")
    private @Nullable Map<String, String> commands;

    @Option(
            names = "--arm-claims-hold",
            description =
                    "The command holds the prefix, whose token ids are in the file $HOLDFAST_PREFIX; the cache has"
                            + " to show it.")
    private boolean claimsHold;

    @Option(
            names = "--arm-server-command",
            paramLabel = "COMMAND",
            description =
                    "In place of --hold: in pinned legs the server is started by this command, in baseline legs by"
                        + " --server-command. Each leg has a process of its own, with a burn-in leg before it that is"
                        + " not written down.")
    private @Nullable String serverCommand;

    public ArmOptions() {}

    /** The command for the server of pinned legs, where they have one. */
    public Optional<String> server() {
        return Optional.ofNullable(serverCommand);
    }

    /**
     * The arm that was asked for, once the options agree.
     *
     * @param floodRequests of one flood
     * @param fleet whether a router has several engines behind it
     */
    public Way way(int floodRequests, boolean fleet) {
        Way way = way(floodRequests);
        if (fleet && commands == null && serverCommand == null && IN_ONE_ENGINE.contains(chosen())) {
            throw new CommandException("--hold " + SglangOptions.name(chosen())
                    + " asks one engine for its own means, and a router is before several; write keep-warm, sidecar,"
                    + " none or --arm-command.");
        }
        return way;
    }

    private Way way(int floodRequests) {
        if (commands != null) {
            return command(commands);
        }
        if (claimsHold) {
            throw new CommandException("--arm-claims-hold is for --arm-command; leave it out.");
        }
        if (serverCommand != null) {
            if (hold != null || sidecar != null || engineId != null) {
                throw new CommandException(
                        "--arm-server-command is an arm of its own; leave --hold and --sidecar out.");
            }
            return anotherServer(serverCommand);
        }
        Hold chosen = chosen();
        if (!needsSidecar(chosen) && (sidecar != null || engineId != null)) {
            throw new CommandException("--sidecar and --engine-id are for --hold sidecar or automatic, and this is "
                    + SglangOptions.name(chosen) + "; leave them out.");
        }
        return switch (chosen) {
            case SESSION -> new Way(false, (engine, clock) -> Arms.session(engine, new SplittableRandom().nextLong()));
            case KEEP_WARM -> keepWarm(floodRequests);
            case PIN_ROUTE -> new Way(true, (engine, clock) -> Arms.pinRoute(engine));
            case PIN_TOLD -> new Way(false, (engine, clock) -> Arms.pinTold(engine));
            case NONE -> Way.none();
            case SIDECAR, AUTOMATIC -> beside(chosen);
            case EVERYTHING ->
                new Way(true, (engine, clock) -> Arms.everything(engine, new SplittableRandom().nextLong()));
        };
    }

    private static boolean needsSidecar(Hold hold) {
        return hold == Hold.SIDECAR || hold == Hold.AUTOMATIC;
    }

    /** Whether what the arm does depends on what was sent before its hold step. */
    boolean learns() {
        return commands == null && serverCommand == null && (chosen() == Hold.AUTOMATIC || chosen() == Hold.EVERYTHING);
    }

    /** What a journal keeps of these options: the arm's name and addresses, and of commands only that there are some. */
    Map<String, String> kept() {
        if (commands != null) {
            return claimsHold ? Map.of(ARM_COMMAND, "", "arm-claims-hold", "") : Map.of(ARM_COMMAND, "");
        }
        if (serverCommand != null) {
            return Map.of(RunHeader.ARM_SERVER, "");
        }
        Hold chosen = chosen();
        Map<String, String> kept = new TreeMap<>(Map.of(HOLD, SglangOptions.name(chosen)));
        if (chosen == Hold.KEEP_WARM) {
            kept.put(TOUCH_EVERY, Integer.toString(touchEvery));
        }
        if (sidecar != null && engineId != null) {
            kept.put(SIDECAR, sidecar.toString());
            kept.put(ENGINE_ID, engineId);
        }
        return kept;
    }

    /** The same of a run that has no arms. */
    static Map<String, String> none() {
        return Map.of(HOLD, SglangOptions.name(Hold.NONE));
    }

    /** Whether a run with this in its journal has commands, which have to be written again. */
    private static boolean isCommand(Map<String, String> kept) {
        return kept.containsKey(ARM_COMMAND);
    }

    /** What has to be written beside the journal of such a run to resume it; the commands are not in it. */
    public static String toWriteAgain(Map<String, String> kept) {
        return (isCommand(kept) ? " --arm-command on=COMMAND off=COMMAND" : "")
                + (kept.containsKey(RunHeader.ARM_SERVER) ? " --arm-server-command COMMAND" : "");
    }

    /** The arm of a run that is resumed. */
    static Way again(
            Map<String, String> kept,
            Optional<Map<String, String>> commands,
            Optional<String> serverCommand,
            boolean fleet) {
        ArmOptions options = new ArmOptions();
        if (serverCommand.isPresent() != kept.containsKey(RunHeader.ARM_SERVER)) {
            throw new CommandException(
                    serverCommand.isPresent()
                            ? "The run has no server of its own for pinned legs; leave --arm-server-command out."
                            : "Pinned legs of the run have a server that a command started, which a journal cannot make"
                                    + " anybody run; write it again, by --arm-server-command COMMAND.");
        }
        if (isCommand(kept)) {
            options.commands = commands.orElseThrow(() -> new CommandException(
                    "The run has commands as its arm, which a journal cannot make anybody run; write them"
                            + " again, by --arm-command on=COMMAND off=COMMAND."));
            options.claimsHold = kept.containsKey("arm-claims-hold");
            return options.way(0, fleet);
        }
        if (commands.isPresent()) {
            throw new CommandException("The run has no commands as its arm; leave --arm-command out.");
        }
        if (serverCommand.isPresent()) {
            return anotherServer(serverCommand.get());
        }
        options.hold = Optional.ofNullable(kept.get(HOLD)).orElse(SglangOptions.name(Hold.NONE));
        Optional.ofNullable(kept.get(TOUCH_EVERY)).ifPresent(every -> options.touchEvery = Integer.parseInt(every));
        Optional.ofNullable(kept.get(SIDECAR)).ifPresent(address -> options.sidecar = URI.create(address));
        Optional.ofNullable(kept.get(ENGINE_ID)).ifPresent(id -> options.engineId = id);
        return options.way(Integer.MAX_VALUE, fleet);
    }

    /** What has to be written again to resume. */
    String again() {
        return again(Optional.ofNullable(commands), server());
    }

    static String again(Optional<Map<String, String>> commands, Optional<String> server) {
        return server.map(command -> " --arm-server-command " + StatusReport.quoted(command))
                        .orElse("")
                + commands.map(given -> " --arm-command on=" + StatusReport.quoted(given.getOrDefault("on", ""))
                                + " off=" + StatusReport.quoted(given.getOrDefault("off", "")))
                        .orElse("");
    }

    private Hold chosen() {
        if (hold != null) {
            return SglangOptions.choice("--hold", hold, Hold.values());
        }
        if (sidecar == null) {
            throw new CommandException("What holds the prefix in pinned legs is not said; write --hold session,"
                    + " keep-warm, pin-route, everything or none, --sidecar with --engine-id, --arm-command or"
                    + " --arm-server-command.");
        }
        return Hold.SIDECAR;
    }

    private Way keepWarm(int floodRequests) {
        if (touchEvery < 1 || touchEvery >= floodRequests) {
            throw new CommandException("--touch-every is " + touchEvery + ", and a flood has " + floodRequests
                    + " requests; write at least 1, and fewer than a flood has.");
        }
        int every = touchEvery;
        return new Way(false, (engine, clock) -> Arms.keepWarm(engine, every));
    }

    private Way beside(Hold chosen) {
        if (sidecar == null || engineId == null) {
            throw new CommandException("A sidecar holds by its address and the engine's id in its configuration; write"
                    + " both --sidecar and --engine-id.");
        }
        URI address = sidecar;
        String id = engineId;
        ServerAddress.check("--sidecar", address);
        return chosen == Hold.AUTOMATIC
                ? new Way(false, (engine, clock) -> new AutomaticHolds(address, id, clock))
                : new Way(true, (engine, clock) -> new SidecarHolder(address, id, LEASE, clock));
    }

    private static Way anotherServer(String command) {
        return new Way(false, (engine, clock) -> Arms.anotherServer(command));
    }

    private Way command(Map<String, String> given) {
        if (serverCommand != null) {
            throw new CommandException("--arm-command and --arm-server-command are two arms; leave one out.");
        }
        if (hold != null || sidecar != null || engineId != null) {
            throw new CommandException("--arm-command is an arm of its own; leave --hold and --sidecar out.");
        }
        String on = given.getOrDefault("on", "").strip();
        String off = given.getOrDefault("off", "").strip();
        if (on.isEmpty() || off.isEmpty() || !SWITCHES.containsAll(given.keySet())) {
            throw new CommandException("--arm-command has " + String.join(", ", given.keySet())
                    + "; write both on=COMMAND and off=COMMAND.");
        }
        boolean claims = claimsHold;
        return new Way(false, (engine, clock) -> Arms.command(on, off, claims));
    }

    /**
     * One way to switch.
     *
     * @param goesByTokens whether what is held is named by its token ids, so that the load has to send them
     */
    public record Way(boolean goesByTokens, Maker maker) {
        ArmSwitch on(HttpEngine engine, RunClock clock) {
            return maker.make(engine, clock);
        }

        public static Way none() {
            return new Way(false, (engine, clock) -> Arms.none());
        }

        /** Token ids where the engine is known to take them; text is what every server takes. */
        public CompletionRoute routeFor(Family family) {
            return switch (family) {
                case SGLANG -> CompletionRoute.SGLANG_GENERATE;
                case VLLM -> CompletionRoute.OPENAI_COMPLETIONS;
                case OTHER -> goesByTokens ? CompletionRoute.OPENAI_COMPLETIONS : CompletionRoute.OPENAI_TEXT;
            };
        }

        public void refuseTextFor(CompletionRoute route) {
            if (goesByTokens && !route.sendsTokenIds()) {
                throw new CommandException("--route is " + route
                        + ", which sends text, and a hold goes by token ids; write SGLANG_GENERATE or"
                        + " OPENAI_COMPLETIONS.");
            }
        }
    }

    /** Makes the switch, once there is an engine to speak to. */
    interface Maker {
        ArmSwitch make(HttpEngine engine, RunClock clock);
    }
}
