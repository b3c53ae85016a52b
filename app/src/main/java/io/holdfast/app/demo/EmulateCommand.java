package io.holdfast.app.demo;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.OwnVertx;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.UntilStopped;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.emulator.Script;
import io.holdfast.emulator.api.ChatTemplate;
import io.holdfast.emulator.api.Tokenizer;
import io.holdfast.rules.engine.Speed;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.FaultCatalogue;
import io.holdfast.rules.kvcached.KvcachedSettings;
import io.holdfast.rules.sglang.SglangSettings;
import io.holdfast.rules.vllm.Profile;
import io.holdfast.rules.vllm.Rates;
import io.holdfast.rules.vllm.Stage;
import io.holdfast.rules.vllm.VllmSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs an emulated engine until it is told to stop. */
@Command(
        name = "emulate",
        description = "Runs an emulated engine: HTTP, SSE, KV events and the real eviction rules, without a GPU.",
        sortOptions = false)
public final class EmulateCommand implements Callable<Integer> {
    private static final Pattern ENDPOINT = Pattern.compile("(?:tcp://([^:/]+):)?(\\d{1,6})");

    private static final List<String> SGLANG_ONLY = List.of(
            "--variant",
            "--capacity-tokens",
            "--eviction",
            "--sessions",
            "--streaming-session",
            "--hicache",
            "--chunked-prefill-size",
            "--schedule-policy");
    /** Options that a TensorRT-LLM has nothing for. */
    private static final List<String> NAMED_BY_VLLM = List.of(
            "--hash-algo",
            "--hash-seed",
            "--byte-hashes",
            "--array-events",
            "--connector-secret-file",
            "--connector-share",
            "--connector-max-ttl",
            "--connector-give-way-after",
            "--nixl-lease");

    private static final List<String> VLLM_ONLY = Stream.concat(
                    Stream.of("--blocks", "--max-batched-tokens", "--scheduling-policy"),
                    NAMED_BY_VLLM.stream().filter(option -> !option.equals("--array-events")))
            .toList();

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @FormerName("--engine")
    @Option(
            names = "--family",
            paramLabel = "NAME",
            defaultValue = "sglang",
            description =
                    "Engine to emulate: sglang, vllm, or tensorrt_llm, which has vLLM's rules with its own routes,"
                            + " names of blocks and events (default: ${DEFAULT-VALUE}).")
    private String engine = "sglang";

    @Option(
            names = "--host",
            paramLabel = "ADDRESS",
            defaultValue = Endpoints.LOOPBACK,
            description = "The address that all ports listen on (default: ${DEFAULT-VALUE}, this machine alone).")
    private String host = Endpoints.LOOPBACK;

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "30000",
            description = "HTTP port, 0 for a free one (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--events",
            paramLabel = "ENDPOINT",
            defaultValue = "5557",
            description = "Endpoint of KV events: a port or tcp://HOST:PORT, 0 for a free port (default:"
                    + " ${DEFAULT-VALUE}).")
    private String events = "";

    @Option(
            names = "--replay",
            paramLabel = "ENDPOINT",
            description = "Endpoint of the replay socket, in the same form (default: none).")
    private String replay = "";

    @Option(
            names = "--page-size",
            paramLabel = "N",
            defaultValue = "16",
            description = "Tokens in a block (default: ${DEFAULT-VALUE}).")
    private int pageTokens;

    @Option(
            names = "--context-tokens",
            paramLabel = "N",
            description = "Most tokens of a prompt and its answer together. The rest of the cache may be pinned"
                    + " (default: a quarter of the cache).")
    private @Nullable Integer contextTokens;

    @Option(
            names = "--max-running",
            paramLabel = "N",
            defaultValue = "32",
            description = "Requests that run together (default: ${DEFAULT-VALUE}).")
    private int maxRunning;

    @Mixin
    private SglangOptions sglang = new SglangOptions();

    @Mixin
    private VllmOptions vllm = new VllmOptions();

    @Option(
            names = "--array-events",
            description =
                    "Send events as arrays, as older engines do, not as maps; for vLLM also use the rules of 0.22.")
    private boolean arrayEvents;

    @Option(
            names = "--profile",
            paramLabel = "NAME",
            description = "Emulate one of the servers of an optimisation log instead: static, continuous, paged,"
                    + " chunked, prefix, graph, or restore. --model llama, qwen3 or gemma3 sets its speed.")
    private String profile = "";

    @Option(
            names = "--kvcached",
            paramLabel = "NAME",
            description = "Memory under kvcached, in the segment NAME of /dev/shm that kvctl lists and limits; such an"
                    + " engine publishes no KV events.")
    private String kvcached = "";

    @Option(
            names = "--model",
            paramLabel = "NAME",
            defaultValue = EmulatorSettings.MODEL,
            description = "The name that the model is served under (default: ${DEFAULT-VALUE}).")
    private String model = EmulatorSettings.MODEL;

    @Option(
            names = "--tokenizer",
            paramLabel = "NAME",
            defaultValue = "pieces",
            description = "pieces, about four letters a token; or words, which are easy to count (default:"
                    + " ${DEFAULT-VALUE}).")
    private String tokenizer = "pieces";

    @Option(
            names = "--chat-template",
            paramLabel = "NAME",
            defaultValue = "chatml",
            description = "chatml, or chatml-think, which rewrites the last answer as some models' do"
                    + " (default: ${DEFAULT-VALUE}).")
    private String template = "chatml";

    @Option(
            names = "--prefill-us-per-token",
            paramLabel = "N",
            defaultValue = "20",
            description = "Prefill time of a token that is not cached (default: ${DEFAULT-VALUE}).")
    private double prefillMicros;

    @Option(
            names = "--first-token-ms",
            paramLabel = "N",
            defaultValue = "5",
            description = "Fixed cost added to each prefill pass (default: ${DEFAULT-VALUE}).")
    private double firstTokenMillis;

    @Option(
            names = "--decode-ms",
            paramLabel = "N",
            defaultValue = "5",
            description = "Time of a decode step (default: ${DEFAULT-VALUE}).")
    private double decodeMillis;

    @Option(
            names = "--speed",
            paramLabel = "FACTOR",
            defaultValue = "1",
            description = "Time scale: 10 runs ten times faster (default: ${DEFAULT-VALUE}).")
    private double scale;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description =
                    "Seed of the emulated model: the same prompt gets the same answer (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(
            names = "--fault",
            paramLabel = "NAME[=ARGS]",
            description = "A fault that real servers have; may be repeated. See --list-faults.")
    private List<String> faults = List.of();

    @Option(
            names = "--script",
            paramLabel = "FILE",
            description = "Actions while it serves: lines like 'at 30 begin throttling', 'at 60 restart'.")
    private Path script = Path.of("");

    @Option(
            names = "--stamps",
            paramLabel = "FILE",
            description = "File to append times to: when each streamed request was received and each chunk of its"
                    + " answer written, one JSON line each, by this machine's monotonic clock. A client's"
                    + " measurements can be checked against them.")
    private Path stamps = Path.of("");

    @Option(names = "--list-faults", description = "Prints all faults, what they do and what they imitate.")
    private boolean listFaults;

    EmulateCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        if (listFaults) {
            TerminalText.plain(spec.commandLine().getOut()).text(FaultCatalogue.text());
            spec.commandLine().getOut().flush();
            return ExitCode.OK;
        }
        EmulatorSettings settings = settings();
        Vertx vertx = OwnVertx.start();
        try (UntilStopped stop = new UntilStopped();
                Emulator emulator = Emulator.start(vertx, settings)) {
            ObjectNode ready = new ObjectMapper().createObjectNode();
            ready.put("engine", profile.isEmpty() ? engine : profile).put("model", model);
            ready.put("url", emulator.uri().toString()).put("events", emulator.eventsEndpoint());
            emulator.replayEndpoint().ifPresent(endpoint -> ready.put("replay", endpoint));
            spec.commandLine().getOut().println(ready);
            stop.await();
        } finally {
            vertx.close().await();
        }
        return ExitCode.OK;
    }

    private EmulatorSettings settings() {
        try {
            EmulatorSettings settings = new EmulatorSettings(
                    endpoints(),
                    kind(),
                    model,
                    Tokenizer.named(tokenizer),
                    SglangOptions.choice("--chat-template", template, ChatTemplate.values()),
                    new Speed(prefillMicros, firstTokenMillis * 1e3, decodeMillis * 1e3, scale),
                    faults.stream().map(Fault::parse).toList(),
                    script(),
                    seed,
                    Optional.empty(),
                    Optional.of(stamps).filter(file -> !file.toString().isEmpty()));
            return kvcached.isEmpty() ? settings : settings.withKvcached(memory(settings.kind()));
        } catch (IllegalArgumentException e) {
            throw new CommandException(e);
        }
    }

    private EmulatorSettings.Kind kind() {
        if (!profile.isEmpty()) {
            refuse(SGLANG_ONLY, "sglang");
            refuse(VLLM_ONLY, "vllm");
            return new EmulatorSettings.Kind.Vllm(Stage.settings(
                    SglangOptions.choice("--profile", profile, Profile.values()),
                    profile.equals(Profile.RESTORE.text()) ? Rates.RESTORING : Rates.of(model)));
        }
        return switch (engine) {
            case "sglang" -> {
                refuse(VLLM_ONLY, "vllm");
                yield sglang.kind(pageTokens, Optional.ofNullable(contextTokens), maxRunning, arrayEvents);
            }
            case "vllm" -> {
                refuse(SGLANG_ONLY, "sglang");
                yield vllm.kind(pageTokens, Optional.ofNullable(contextTokens), maxRunning, arrayEvents);
            }
            case "tensorrt_llm" -> {
                refuse(SGLANG_ONLY, "sglang");
                refuse(NAMED_BY_VLLM, "vllm");
                yield vllm.tensorRt(pageTokens, Optional.ofNullable(contextTokens), maxRunning);
            }
            default ->
                throw new CommandException("--family is '" + engine + "'; there are sglang, vllm and tensorrt_llm.");
        };
    }

    private KvcachedSettings memory(EmulatorSettings.Kind kind) {
        if (!profile.isEmpty()) {
            throw new CommandException("--kvcached is for engines, and --profile is none; leave one of them out.");
        }
        return switch (kind) {
            case EmulatorSettings.Kind.Sglang engineKind -> {
                SglangSettings its = engineKind.settings();
                yield KvcachedSettings.of(
                                KvcachedSettings.EngineTag.SGLANG,
                                its.capacityTokens() / its.pageTokens() + 1,
                                its.pageTokens())
                        .withIpcName(kvcached);
            }
            case EmulatorSettings.Kind.Vllm engineKind -> {
                VllmSettings its = engineKind.settings();
                yield KvcachedSettings.of(KvcachedSettings.EngineTag.VLLM, its.blocks(), its.blockTokens())
                        .withIpcName(kvcached);
            }
        };
    }

    /** An option that another engine alone understands would silently do nothing. */
    private void refuse(List<String> options, String owner) {
        for (String option : options) {
            if (spec.commandLine().getParseResult().hasMatchedOption(option)) {
                throw new CommandException(option + " is for --family " + owner + ", and this is "
                        + (profile.isEmpty() ? engine : "the profile " + profile) + "; leave it out.");
            }
        }
    }

    private Endpoints endpoints() {
        return new Endpoints(
                host,
                port,
                endpoint("--events", events),
                replay.isEmpty() ? OptionalInt.empty() : OptionalInt.of(endpoint("--replay", replay)));
    }

    /** The port of an endpoint; all ports are on one host. */
    private int endpoint(String option, String text) {
        Matcher parts = ENDPOINT.matcher(text);
        if (!parts.matches()) {
            throw new CommandException(
                    option + " is '" + text + "'; it must be a port or tcp://HOST:PORT, such as tcp://127.0.0.1:5557.");
        }
        String named = parts.group(1);
        if (named != null && !named.equals(host)) {
            throw new CommandException(option + " names the host '" + named + "', and --host is '" + host
                    + "'; all ports listen on one address: give it with --host.");
        }
        return Integer.parseInt(parts.group(2));
    }

    private Script script() {
        if (script.toString().isEmpty()) {
            return Script.NONE;
        }
        try {
            return Script.parse(Files.readAllLines(script));
        } catch (IOException e) {
            throw new CommandException("The script " + script + " cannot be read as text: " + e.getMessage() + ".");
        }
    }
}
