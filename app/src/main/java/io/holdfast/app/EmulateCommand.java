package io.holdfast.app;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.fault.Fault;
import io.holdfast.emulator.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs an emulated engine until it is told to stop. */
@Command(
        name = "emulate",
        description = "An emulated engine: HTTP, SSE, KV events and the real eviction rules, without a GPU.",
        sortOptions = false)
final class EmulateCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--engine",
            paramLabel = "NAME",
            defaultValue = "sglang",
            description = "Whose rules; sglang is the one built so far (default: ${DEFAULT-VALUE}).")
    private String engine = "sglang";

    @Option(
            names = "--variant",
            paramLabel = "NAME",
            defaultValue = "stock",
            description = "stock, or pin-gpu with the routes /hicache/pin_blocks and unpin_blocks (default: stock).")
    private String variant = "stock";

    @Option(
            names = "--port",
            paramLabel = "N",
            defaultValue = "30000",
            description = "HTTP port, 0 for a free one (default: ${DEFAULT-VALUE}).")
    private int port;

    @Option(
            names = "--events-port",
            paramLabel = "N",
            defaultValue = "5557",
            description = "Port of the KV events, 0 for a free one (default: ${DEFAULT-VALUE}).")
    private int eventsPort;

    @Option(
            names = "--capacity-tokens",
            paramLabel = "N",
            defaultValue = "24576",
            description = "Tokens that the cache holds (default: ${DEFAULT-VALUE}).")
    private int capacityTokens;

    @Option(
            names = "--page-size",
            paramLabel = "N",
            defaultValue = "16",
            description = "Tokens in a block (default: ${DEFAULT-VALUE}).")
    private int pageTokens;

    @Option(
            names = "--context-tokens",
            paramLabel = "N",
            defaultValue = "4096",
            description = "The longest prompt and answer together (default: ${DEFAULT-VALUE}).")
    private int contextTokens;

    @Option(
            names = "--prefill-us-per-token",
            paramLabel = "N",
            defaultValue = "20",
            description = "Prefill time of a token that is not cached (default: ${DEFAULT-VALUE}).")
    private double prefillMicros;

    @Option(
            names = "--decode-ms",
            paramLabel = "N",
            defaultValue = "5",
            description = "Time of a decode step (default: ${DEFAULT-VALUE}).")
    private double decodeMillis;

    @Option(
            names = "--max-running",
            paramLabel = "N",
            defaultValue = "32",
            description = "Requests that run together (default: ${DEFAULT-VALUE}).")
    private int maxRunning;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Of the emulated model: the same prompt gets the same answer (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(
            names = "--fault",
            paramLabel = "NAME[=ARGS]",
            description = "cold-first-wave[=REQUESTS,EXTRA_MS], warming=REQUESTS or pin-ignored; may be repeated.")
    private List<String> faults = List.of();

    EmulateCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        EmulatorSettings settings = settings();
        Vertx vertx = Vertx.vertx();
        try (UntilStopped stop = new UntilStopped();
                Emulator emulator = Emulator.start(vertx, settings)) {
            ObjectNode ready = new ObjectMapper().createObjectNode();
            ready.put("engine", engine).put("variant", variant);
            ready.put("url", emulator.uri().toString()).put("events", emulator.eventsEndpoint());
            spec.commandLine().getOut().println(ready);
            stop.await();
        } finally {
            vertx.close().await();
        }
        return ExitCode.OK;
    }

    private EmulatorSettings settings() {
        if (!engine.equals("sglang")) {
            throw new CommandException("--engine is '" + engine + "'; the one built so far is sglang.");
        }
        try {
            return EmulatorSettings.defaults()
                    .withHttpPort(port)
                    .withEventsPort(eventsPort)
                    .withSizes(capacityTokens, pageTokens, contextTokens)
                    .withPrefillMicrosPerToken(prefillMicros)
                    .withDecodeMillis(decodeMillis)
                    .withMaxRunning(maxRunning)
                    .withVariant(variant())
                    .withSeed(seed)
                    .withFaults(faults.stream().map(Fault::parse).toList());
        } catch (IllegalArgumentException e) {
            throw new CommandException(e);
        }
    }

    private SglangSettings.Variant variant() {
        return switch (variant) {
            case "stock" -> SglangSettings.Variant.STOCK;
            case "pin-gpu" -> SglangSettings.Variant.PIN_GPU;
            default -> throw new CommandException("--variant is '" + variant + "'; built are stock and pin-gpu.");
        };
    }
}
