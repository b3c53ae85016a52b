package io.holdfast.app.sidecar;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.UntilStopped;
import io.holdfast.sidecar.config.ConfigSources;
import io.holdfast.sidecar.config.ConfigSources.Setting;
import io.holdfast.sidecar.config.EffectiveConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.engine.EngineTarget;
import io.holdfast.sidecar.fleet.Follower;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import java.io.PrintWriter;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the sidecar until it is told to stop, then releases what it holds. */
@Command(
        name = "sidecar",
        description = {
            "Runs the process beside the engine: follows its KV events, holds what is requested, gives a reason"
                    + " for every decision.",
            "",
            "Every key of the configuration can be set by a flag, by a variable or in the file. The flag wins"
                    + " over the variable, and the variable over the file: --set engines.main.share=0.3,"
                    + " HOLDFAST_ENGINES_MAIN_SHARE=0.3, or share: 0.3 under the engine main. SIGHUP reloads"
                    + " the configuration."
        },
        sortOptions = false)
public final class SidecarCommand implements Callable<Integer> {
    private static final Duration ASKS_EACH = Duration.ofSeconds(2);
    /** Time that an engine beside which this starts has to say what it is; a probe of this process waits as long. */
    private static final Duration ASKS_FIRST = Duration.ofSeconds(1);
    /** Time for the same where somebody only looks, and nothing probes. */
    private static final Duration ASKS_WHO_WAITS = Duration.ofSeconds(5);

    private static final Duration LOOKS_EACH = Duration.ofMillis(250);
    private static final Duration TRIMS_EACH = Duration.ofMinutes(1);
    private static final String ASSUMED = "sglang";
    private static final String API_KEY = "engines.main.apiKeyEnv=";
    private static final Logger LOG = LoggerFactory.getLogger(LogSetup.ALWAYS);

    /** Set by the parser; {@link #usual} does without. */
    @Spec
    private @Nullable CommandSpec spec;

    private @Nullable PrintWriter usualOut;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description =
                    "Configuration in YAML; also HOLDFAST_CONFIG. Not needed where --engine or variables suffice.")
    private @Nullable Path config;

    @Option(
            names = "--set",
            paramLabel = "KEY=VALUE",
            description = "One key, such as listen.port=9000 or engines.main.share=0.3; repeatable.")
    private List<String> settings = new ArrayList<>();

    @Option(names = "--engine", paramLabel = "URL", description = "An engine called main: engines.main.url.")
    private @Nullable String engine;

    @Option(
            names = "--engine-type",
            paramLabel = "TYPE",
            description = "engines.main.type: sglang, vllm or tensorrt_llm (default: the engine at --engine is asked).")
    private @Nullable String engineType;

    @Option(names = "--port", paramLabel = "PORT", description = "listen.port.")
    private @Nullable String port;

    @Option(names = "--state-directory", paramLabel = "DIR", description = "stateDirectory.")
    private @Nullable String stateDirectory;

    @Option(
            names = "--check-config",
            description = "Check the configuration, and the files and variables that it names, and exit.")
    private boolean checkOnly;

    @Option(
            names = "--print-config",
            description =
                    "Print the effective configuration with defaults, as a file that can be read again, and" + " exit.")
    private boolean printConfig;

    @Option(
            names = "--from-old",
            paramLabel = "FILE",
            description = "With --print-config: convert this file of an earlier version, which listed its engines, into"
                    + " the present form, where each engine, device and hold stands under its name."
                    + " Comments are not kept.")
    private @Nullable Path old;

    @Option(names = "--print-example", description = "Print a commented configuration to start from, and exit.")
    private boolean printExample;

    @Option(
            names = "--print-keys",
            description = "Print every key with its default and the reason for the" + " default, and exit.")
    private boolean printKeys;

    @Option(
            names = "--show-text",
            description = "Show the text, messages and tokens of requested holds to callers who may act.")
    private boolean showText;

    @Option(
            names = "--standby",
            description = "Wait while another sidecar has the state directory, and take over when that one has ended.")
    private boolean standby;

    @Option(
            names = "--log-level",
            paramLabel = "LEVEL",
            description = {
                "error, warn, info or debug; also HOLDFAST_LOG.",
                "Default: warn, and in addition the main events: an engine lost or back, the chosen backend, a"
                        + " hold made, lost or ended."
            })
    private @Nullable String logLevel;

    @Option(
            names = "--log-format",
            paramLabel = "FORMAT",
            description = "text or json, one object a line; also HOLDFAST_LOG_FORMAT. Default: text, with the"
                    + " date where the output is no terminal.")
    private @Nullable String logFormat;

    /** Family of the engine that a URL alone names; read by the thread that reloads. */
    private volatile Recogniser recogniser = Recogniser.none();

    SidecarCommand() {}

    /**
     * A sidecar of the words that it is usually started with, read without the parser; empty where there is any other word, or
     * a doubt, about which the parser has the say. The parser's 171 classes are of Java 5, which no AOT cache takes: they cost a
     * quarter of a start.
     */
    public static Optional<SidecarCommand> usual(List<String> words, PrintWriter out) {
        SidecarCommand command = new SidecarCommand();
        command.usualOut = out;
        if (words.isEmpty() || !words.getFirst().equals("sidecar")) {
            return Optional.empty();
        }
        Set<String> seen = new HashSet<>();
        for (int at = 1; at < words.size(); at++) {
            int sign = words.get(at).indexOf('=');
            String name = sign < 0 ? words.get(at) : words.get(at).substring(0, sign);
            String value;
            if (sign >= 0) {
                value = words.get(at).substring(sign + 1);
            } else if (++at < words.size()) {
                value = words.get(at);
            } else {
                return Optional.empty();
            }
            boolean again = !seen.add(name) && !name.equals("--set");
            if (again || value.isEmpty() || "-@\"'".indexOf(value.charAt(0)) >= 0 || !command.takes(name, value)) {
                return Optional.empty();
            }
        }
        return Optional.of(command);
    }

    private boolean takes(String name, String value) {
        switch (name) {
            case "--config" -> {
                try {
                    config = Path.of(value);
                } catch (InvalidPathException e) {
                    return false;
                }
            }
            case "--set" -> settings.add(value);
            case "--engine" -> engine = value;
            case "--port" -> port = value;
            case "--state-directory" -> stateDirectory = value;
            default -> {
                return false;
            }
        }
        return true;
    }

    private PrintWriter out() {
        return usualOut != null
                ? usualOut
                : Objects.requireNonNull(spec, "spec").commandLine().getOut();
    }

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = out();
        if (printExample || printKeys) {
            out.print(printExample ? SidecarConfig.example() : SidecarConfig.reference());
            out.flush();
            return ExitCode.OK;
        }
        if (old != null) {
            if (!printConfig) {
                throw new CommandException("--from-old prints a file in another form; add --print-config.");
            }
            out.print(ConfigSources.renewed(old));
            out.flush();
            return ExitCode.OK;
        }
        LogSetup.Form form = LogSetup.choose(System.getenv(), logLevel, logFormat);
        ConfigSources sources = sources(System.getenv());
        if (checkOnly) {
            sources.check();
            out.println(file().map(Path::toString).orElse("The configuration") + " is valid.");
            return ExitCode.OK;
        }
        if (printConfig) {
            recognised(ASKS_WHO_WAITS);
            out.print(sources.read().yaml());
            out.flush();
            return ExitCode.OK;
        }
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        // While the engine is asked.
        Vertx vertx = Sidecar.instrumented(registry);
        try (UntilStopped stop = new UntilStopped()) {
            boolean recognised = recognised(ASKS_FIRST);
            EffectiveConfig effective = sources.read();
            // What has not begun to serve reads its configuration when it does.
            HangUp.handle(() -> {});
            Follower follower =
                    new Follower(effective.config(), () -> Sidecar.start(vertx, sources, showText, registry));
            Optional<Sidecar> started =
                    standby ? takeOver(follower, stop) : Optional.of(Sidecar.start(vertx, sources, showText, registry));
            if (started.isPresent()) {
                serve(started.get(), sources, effective, recognised, form, stop);
            }
        } finally {
            vertx.close().await();
        }
        return ExitCode.OK;
    }

    /** Returns true if it is known what the engine is, after at most this time for its answer. */
    private boolean recognised(Duration most) throws InterruptedException {
        return engine == null || recogniser.within(most).isPresent();
    }

    /** Absent when the process was told to stop before it could. */
    private Optional<Sidecar> takeOver(Follower follower, UntilStopped stop) throws InterruptedException {
        Optional<Sidecar> started = follower.tryToStart();
        if (started.isEmpty()) {
            say("holdfast sidecar stands by: another one has the state directory");
        }
        while (started.isEmpty() && !stop.await(Follower.LOOKS_EACH)) {
            started = follower.tryToStart();
        }
        return started;
    }

    private void serve(
            Sidecar started,
            ConfigSources sources,
            EffectiveConfig effective,
            boolean recognised,
            LogSetup.Form form,
            UntilStopped stop)
            throws InterruptedException {
        try (Sidecar sidecar = started) {
            HangUp.handle(() -> reload(sidecar, sources, form));
            say("holdfast sidecar listens on " + sidecar.uri());
            tell("configuration", effective.lines(), form);
            if (recognised || recognisedBeforeTheStop(sidecar, sources, form, stop)) {
                awaitStop(stop);
            }
            say("holdfast sidecar releases its holds and ends");
        }
    }

    /** Waits until an engine that was silent at the start says what it is; false where the process is to stop before. */
    private boolean recognisedBeforeTheStop(
            Sidecar sidecar, ConfigSources sources, LogSetup.Form form, UntilStopped stop) throws InterruptedException {
        while (recogniser.family().isEmpty()) {
            if (stop.await(LOOKS_EACH)) {
                return false;
            }
        }
        if (!recogniser.family().equals(Optional.of(ASSUMED))) {
            reload(sidecar, sources, form);
        }
        return true;
    }

    private static void awaitStop(UntilStopped stop) throws InterruptedException {
        HeapTrim heap = HeapTrim.ofThisProcess();
        while (!stop.await(TRIMS_EACH)) {
            heap.look();
        }
    }

    private void say(String line) {
        out().println(line);
        out().flush();
    }

    private Optional<Path> file() {
        return Optional.ofNullable(config)
                .or(() -> Optional.ofNullable(System.getenv("HOLDFAST_CONFIG")).map(SidecarCommand::path));
    }

    /** Path that the variable names, which is not as free as a file: a system without UTF-8 can write no umlaut. */
    static Path path(String text) {
        try {
            return Path.of(text);
        } catch (InvalidPathException e) {
            throw new CommandException("HOLDFAST_CONFIG is no path of this system (" + e.getMessage()
                    + "); set LC_ALL=C.UTF-8 where it has other letters than ASCII.");
        }
    }

    private ConfigSources sources(Map<String, String> environment) {
        List<Setting> flags = new ArrayList<>();
        if (engine != null) {
            flags.add(new Setting("--engine", "engines.main.url", engine));
        }
        flag(flags, "--engine-type", "engines.main.type", engineType);
        flag(flags, "--port", "listen.port", port);
        flag(flags, "--state-directory", "stateDirectory", stateDirectory);
        settings.forEach(each -> flags.add(Setting.of(each)));
        ConfigSources sources = ConfigSources.of(file(), environment, flags);
        if (sources.isEmpty()) {
            throw new CommandException(
                    "the sidecar needs --config FILE or --engine URL; 'holdfast sidecar --print-example'"
                            + " prints a file to start from.");
        }
        return engine == null ? sources : whatItIs(sources, EngineTarget.named(engine));
    }

    /** Asks the engine for what a URL alone leaves open, as doctor does; takes it for an SGLang until it answers. */
    private ConfigSources whatItIs(ConfigSources sources, EngineTarget target) {
        if (engineType != null) {
            recogniser = Recogniser.of(engineType);
        } else if (!checkOnly) {
            Optional<String> key = settings.stream()
                    .filter(each -> each.startsWith(API_KEY))
                    .map(each -> each.substring(API_KEY.length()))
                    .findFirst();
            recogniser = Recogniser.asking(
                    target.withApiKeyEnv(key)::recognised,
                    ASKS_EACH,
                    Thread.ofPlatform().name("holdfast-recogniser").daemon().factory());
        }
        return sources.withDefaults(() -> {
            String known = recogniser.family().orElse(ASSUMED);
            List<Setting> open = new ArrayList<>();
            open.add(new Setting("--engine", "engines.main.type", known));
            target.usualEvents(known)
                    .ifPresent(events -> open.add(new Setting("--engine", "engines.main.events", events)));
            return open;
        });
    }

    private static void flag(List<Setting> flags, String typed, String key, @Nullable String value) {
        if (value != null) {
            flags.add(new Setting(typed, key, value));
        }
    }

    private void reload(Sidecar sidecar, ConfigSources sources, LogSetup.Form form) {
        try {
            tell(sidecar.reload().sentence(), sources.read().lines(), form);
        } catch (SidecarException e) {
            tell("Nothing is reloaded: " + e.getMessage(), List.of(), form);
        }
    }

    /** On standard output where a person sees it at once, else in the log. */
    private void tell(String what, List<String> lines, LogSetup.Form form) {
        switch (form) {
            case JSON -> LOG.atInfo().addKeyValue("lines", lines).log(what);
            case TEXT -> {
                LOG.info(what);
                lines.forEach(LOG::info);
            }
            case TERMINAL -> {
                PrintWriter out = out();
                out.println(lines.isEmpty() ? what : what.replaceFirst("\\.$", "") + ":");
                lines.forEach(line -> out.println("  " + line));
            }
        }
    }
}
