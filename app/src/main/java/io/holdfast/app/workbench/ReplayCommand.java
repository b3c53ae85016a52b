package io.holdfast.app.workbench;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.loadtest.trace.Trace;
import io.holdfast.loadtest.trace.TraceFile;
import io.holdfast.workbench.replay.Replay;
import io.holdfast.workbench.replay.ReplayResult;
import io.holdfast.workbench.replay.ReplaySettings;
import io.holdfast.workbench.replay.ReplaySettings.Announced;
import io.holdfast.workbench.replay.ReplaySettings.Form;
import io.holdfast.workbench.replay.ReplaySettings.Hints;
import io.holdfast.workbench.replay.ReplaySettings.Lever;
import io.holdfast.workbench.replay.ReplaySettings.Part;
import io.holdfast.workbench.replay.ReplaySettings.Policy;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** What holding would have been worth on traffic that was recorded. */
@Command(
        name = "replay",
        description = {
            "Replays recorded requests through a cache, without an engine. Shows how many blocks a policy finds,"
                    + " next to the engine's LRU and to a cache that knows the future.",
            "Exit code 0: replayed, 2: bad trace."
        },
        sortOptions = false)
public final class ReplayCommand implements Callable<Integer> {
    /** What is seen of requests. */
    enum Touches {
        EVENTS,
        FULL
    }

    /** What is told of what the engine does. */
    enum Emit {
        PLAIN,
        ENGINE_LIKE,
        SGLANG,
        VLLM;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** As {@link Emit} writes itself. */
    static final class EmitName implements ITypeConverter<Emit> {
        EmitName() {}

        @Override
        public Emit convert(String value) {
            return Stream.of(Emit.values())
                    .filter(emit -> emit.toString().equalsIgnoreCase(value))
                    .findFirst()
                    .orElseThrow(() -> new TypeConversionException(
                            "expected one of " + List.of(Emit.values()) + " but was '" + value + "'"));
        }
    }

    /** What serves the requests. */
    enum Rules {
        PLAIN,
        SGLANG,
        VLLM
    }

    /** How large the caches are. */
    private static final class Sizes {
        @Option(
                names = "--capacity-blocks",
                paramLabel = "N",
                split = ",",
                description = "Blocks that the cache has room for; several with commas between.")
        private List<Integer> blocks = new ArrayList<>();

        @Option(
                names = "--capacity-share",
                paramLabel = "SHARE",
                split = ",",
                description = "The same as a share of the trace's different blocks, such as 0.02 (default: 0.01, 0.02,"
                        + " 0.05, 0.1, 0.2, 0.5).")
        private List<Double> shares = new ArrayList<>();

        Sizes() {}
    }

    private static final List<Double> USUAL_SHARES = List.of(0.01, 0.02, 0.05, 0.1, 0.2, 0.5);

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--trace",
            required = true,
            paramLabel = "FILE",
            description = "Requests as Mooncake publishes them: JSON lines with timestamp, input_length, output_length"
                    + " and hash_ids, one for each 512 tokens; or CSV with the header time,prefix,tokens, such as"
                    + " 12.5,system/chat-7,1800/420; or a recording by 'holdfast observe --record', for which requests"
                    + " that differ early are listed too. Each may be gzipped.")
    private Path trace = Path.of("");

    @Option(
            names = "--format",
            paramLabel = "NAME",
            description = "mooncake, csv or recording (default: detected from the first line).")
    private TraceFile.@Nullable Format format;

    @Option(names = "--block-tokens", paramLabel = "N", description = "Tokens in a block of a CSV trace (default: 16).")
    private @Nullable Integer blockTokens;

    @ArgGroup
    private Sizes sizes = new Sizes();

    @Option(
            names = "--policy",
            paramLabel = "NAME",
            defaultValue = "HOLDFAST",
            description = "lru; optimum, which knows the future; holdfast; freq, which is holdfast with the number of"
                    + " recent uses as a block's score. Other evictions in the engine: slru (a block found once is"
                    + " protected), lfu (the block used least often goes first) (default: holdfast).")
    private Policy policy = Policy.HOLDFAST;

    @Option(
            names = "--touches",
            paramLabel = "WHAT",
            defaultValue = "EVENTS",
            description = "events: requests that store nothing are unseen, as in a sidecar; full: all requests"
                    + " are seen, as in a router (default: events).")
    private Touches touches = Touches.EVENTS;

    @Option(
            names = "--emit",
            paramLabel = "WHAT",
            defaultValue = "plain",
            converter = EmitName.class,
            description = "plain: each request is one announcement. engine-like: blocks of 16 tokens, chunks, answers"
                    + " and removals are announced as by an engine, through the codec of its events:"
                    + " sglang (the same as engine-like) or vllm (default: plain).")
    private Emit emit = Emit.PLAIN;

    @Option(
            names = "--rules",
            paramLabel = "WHAT",
            defaultValue = "PLAIN",
            description = "plain: a cache of blocks with LRU eviction, where no request waits. sglang or vllm: the"
                    + " engine's own rules in virtual time (radix tree or block pool, chunks, admission, retraction,"
                    + " running requests that hold their blocks), announced by events as with --emit; several times"
                    + " slower. sglang is the branch with pin_blocks, or with --backend session the release with"
                    + " sessions. vllm can hold nothing, so it needs --policy lru (default: plain).")
    private Rules rules = Rules.PLAIN;

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            description = "pin or session, with --emit engine-like or --rules sglang: holds begin at the sidecar's pace"
                    + " (default: as soon as they are chosen). With --emit pin and session are the same,"
                    + " since only the pace is modelled. With --rules sglang the engine can refuse a pin,"
                    + " and a session hold is a request.")
    private @Nullable Lever backend;

    @Option(
            names = "--held",
            description = "Let running requests hold their blocks and those of their answers; always on with --rules"
                    + " sglang or vllm.")
    private boolean held;

    @Option(
            names = "--hints",
            paramLabel = "P",
            description = "Let each request report whether its conversation goes on, correctly with probability P.")
    private @Nullable Double hints;

    @Option(
            names = "--hint-seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of the choice of" + " wrong hints.")
    private long hintSeed = 1;

    @Option(names = "--thin", paramLabel = "P", description = "Leave out each request with probability P.")
    private @Nullable Double thin;

    @Option(
            names = "--seed",
            paramLabel = "N",
            defaultValue = "1",
            description = "Seed of the choice of requests" + " that --thin leaves out.")
    private long seed = 1;

    @Option(names = "--ungated", description = "The same as --without gate.")
    private boolean ungated;

    @Option(
            names = "--without",
            paramLabel = "PART",
            split = ",",
            description = "Leave out gate (pin without proof that pins help), shadow (pin until the engine itself finds"
                    + " less than a model without pins), share (a smaller share of the room where blocks"
                    + " stay long), reserve (leave no room for long prompts), ghosts (forget what was"
                    + " removed), tick (choose every ten seconds), or, with --emit, requests (take each"
                    + " announcement for a request of its own). This shows how much each part contributes.")
    private List<Part> without = new ArrayList<>();

    @Option(
            names = "--show-text",
            description = "Show an example of two recorded requests that differ early, with some tokens of their"
                    + " prompts where they part.")
    private boolean showText;

    @Option(names = "--json", description = "One JSON array, with one object for each capacity.")
    private boolean json;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Also write a plot of the shares found over the capacities. An existing file is replaced.")
    private @Nullable Path plot;

    ReplayCommand() {}

    @Override
    public Integer call() {
        probability("--hints", hints);
        probability("--thin", thin);
        consistent();
        writable(plot);
        PrintWriter out = spec.commandLine().getOut();
        Trace requests = file().read();
        if (thin != null) {
            requests = requests.thinned(thin, seed);
        }
        if (emit != Emit.PLAIN || rules != Rules.PLAIN) {
            requests = requests.asKeptByEngines();
        }
        List<Integer> capacities = capacities(requests);
        ReplaySettings settings = settings();
        for (int capacity : capacities) {
            Replay.check(requests, settings, capacity);
        }
        ReplayReport report = new ReplayReport(requests, policy.name().toLowerCase(Locale.ROOT), showText);
        TerminalText text = new TerminalText(out, !json && TerminalText.onTerminal(), System::nanoTime);
        if (!json) {
            report.begin(text);
        }
        for (int capacity : capacities) {
            if (!json) {
                text.live("  " + capacity + " blocks");
            }
            ReplayResult lru = Replay.run(requests, settings.with(Policy.LRU), capacity);
            ReplayResult optimum = Replay.run(requests, settings.with(Policy.OPTIMUM), capacity);
            ReplayResult found = switch (policy) {
                case LRU -> lru;
                case OPTIMUM -> optimum;
                case HOLDFAST, FREQ, SLRU, LFU -> Replay.run(requests, settings, capacity);
            };
            report.add(found, lru, optimum);
            if (!json) {
                report.line(text);
            }
        }
        if (plot != null) {
            write(plot, report.svg());
        }
        if (json) {
            out.println(report.json());
            out.flush();
        } else {
            report.end(text);
        }
        return ExitCode.OK;
    }

    private void consistent() {
        if (rules != Rules.PLAIN) {
            followsRules();
            return;
        }
        if (emit == Emit.PLAIN && backend != null) {
            throw new CommandException(
                    "--backend says how fast holds begin, which is seen with --emit engine-like or --rules sglang only;"
                            + " write both, or neither.");
        }
        if (emit == Emit.PLAIN && without.contains(Part.REQUESTS)) {
            throw new CommandException(
                    "--without requests takes each announcement for a request, and --emit plain has none; write --emit"
                            + " engine-like, sglang or vllm.");
        }
        if (without.contains(Part.SHADOW) && (ungated || without.contains(Part.GATE))) {
            throw new CommandException(
                    "--without shadow is another licence to pin, and --without gate is none;" + " write one of them.");
        }
    }

    private void followsRules() {
        String name = rules.name().toLowerCase(Locale.ROOT);
        if (rules == Rules.VLLM && (policy != Policy.LRU || backend != null)) {
            throw new CommandException(
                    "vLLM has neither pins nor sessions, so by --rules vllm nothing can be held; write --policy lru"
                            + " without --backend, or --rules sglang, or --emit vllm, where pins are made up.");
        }
        if (policy == Policy.SLRU || policy == Policy.LFU || policy == Policy.OPTIMUM) {
            throw new CommandException("--policy " + policy.name().toLowerCase(Locale.ROOT)
                    + " replaces the engine's eviction, and --rules " + name
                    + " keeps it; write --policy lru, holdfast or freq, or --rules plain.");
        }
        if (touches == Touches.FULL) {
            throw new CommandException("--touches full shows requests that no event tells of, and with --rules " + name
                    + " everything is told by events; leave it out, or write --rules plain.");
        }
        if (without.contains(Part.REQUESTS)) {
            throw new CommandException(
                    "--without requests takes each announcement for a request, which is modelled with"
                            + " --emit only; leave it out, or write --rules plain.");
        }
        if (emit != Emit.PLAIN && (emit == Emit.VLLM) != (rules == Rules.VLLM)) {
            throw new CommandException("--rules " + name + " announces what it does as " + name
                    + " does, not as --emit " + emit + " says; leave --emit out.");
        }
    }

    private TraceFile file() {
        TraceFile file = TraceFile.at(trace);
        if (format != null) {
            file = file.as(format);
        }
        if (blockTokens != null) {
            if (blockTokens < 1) {
                throw new CommandException("--block-tokens is at least 1, not " + blockTokens + ".");
            }
            file = file.inBlocksOf(blockTokens);
        }
        return file;
    }

    private ReplaySettings settings() {
        Set<Part> left = EnumSet.noneOf(Part.class);
        left.addAll(without);
        if (ungated) {
            left.add(Part.GATE);
        }
        return new ReplaySettings(
                policy,
                left,
                held,
                touches == Touches.FULL,
                Optional.ofNullable(hints).map(right -> new Hints(right, hintSeed)),
                announced());
    }

    private Optional<Announced> announced() {
        if (emit == Emit.PLAIN && rules == Rules.PLAIN) {
            return Optional.empty();
        }
        Form form = emit == Emit.VLLM || rules == Rules.VLLM ? Form.VLLM : Form.SGLANG;
        return Optional.of(new Announced(form, Optional.ofNullable(backend), rules != Rules.PLAIN));
    }

    private List<Integer> capacities(Trace requests) {
        List<Integer> capacities = new ArrayList<>(sizes.blocks);
        boolean unsaid = sizes.blocks.isEmpty() && sizes.shares.isEmpty();
        for (double share : unsaid ? USUAL_SHARES : sizes.shares) {
            if (!(share > 0 && share <= 1)) {
                throw new CommandException("--capacity-share is a share above 0 and up to 1, not " + share + ".");
            }
            capacities.add((int) Math.max(1, Math.round(share * requests.uniqueBlocks())));
        }
        for (int capacity : capacities) {
            if (capacity < 1) {
                throw new CommandException("--capacity-blocks is at least 1, not " + capacity + ".");
            }
        }
        return capacities;
    }

    /** Said before the replay, which may take a while. */
    private static void writable(@Nullable Path file) {
        if (file != null) {
            Path folder = Optional.ofNullable(file.toAbsolutePath().getParent()).orElse(file);
            if (!Files.isDirectory(folder)) {
                throw new CommandException("--plot names a file in " + folder + ", which is no directory.");
            }
            if (Files.isDirectory(file)) {
                throw new CommandException("--plot names " + file + ", which is a directory; name a file in it.");
            }
            if (!Files.isWritable(Files.exists(file) ? file : folder)) {
                throw new CommandException("--plot names " + file + ", which may not be written; name another file.");
            }
        }
    }

    private static void write(Path file, String content) {
        try {
            Files.writeString(file, content);
        } catch (IOException e) {
            throw new CommandException("--plot names " + file + ", which cannot be written: " + e.getMessage() + ".");
        }
    }

    private static void probability(String name, @Nullable Double value) {
        if (value != null && !(value >= 0 && value <= 1)) {
            throw new CommandException(name + " is a probability between 0 and 1, not " + value + ".");
        }
    }
}
