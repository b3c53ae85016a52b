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
            "Replays recorded requests through a cache, without any engine: how many blocks a policy finds, next to"
                    + " what the engine's LRU finds and to what a cache would find that knew the future.",
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
                    + " 12.5,system/chat-7,1800/420; or a recording by 'holdfast observe --record', of which it is also"
                    + " said which requests differ early. Packed by gzip or not.")
    private Path trace = Path.of("");

    @Option(
            names = "--format",
            paramLabel = "NAME",
            description = "mooncake, csv or recording (default: what the first line tells).")
    private TraceFile.@Nullable Format format;

    @Option(names = "--block-tokens", paramLabel = "N", description = "Tokens in a block of a CSV trace (default: 16).")
    private @Nullable Integer blockTokens;

    @ArgGroup
    private Sizes sizes = new Sizes();

    @Option(
            names = "--policy",
            paramLabel = "NAME",
            defaultValue = "HOLDFAST",
            description = "lru, optimum (knows what comes), holdfast, or freq: as holdfast, with how often a block was"
                    + " used lately as its score; or another eviction in the engine: slru (what was found once is"
                    + " protected) or lfu (what was used least often goes first) (default: holdfast).")
    private Policy policy = Policy.HOLDFAST;

    @Option(
            names = "--touches",
            paramLabel = "WHAT",
            defaultValue = "EVENTS",
            description = "events: requests that store nothing are not seen, as beside an engine; full: all are, as in"
                    + " a router (default: events).")
    private Touches touches = Touches.EVENTS;

    @Option(
            names = "--emit",
            paramLabel = "WHAT",
            defaultValue = "plain",
            converter = EmitName.class,
            description =
                    "plain: each request is told as a whole; engine-like: blocks of 16 tokens, chunks, answers and"
                            + " removals are announced as an engine would, through the codec of its events: sglang (the"
                            + " same as engine-like) or vllm (default: plain).")
    private Emit emit = Emit.PLAIN;

    @Option(
            names = "--rules",
            paramLabel = "WHAT",
            defaultValue = "PLAIN",
            description =
                    "plain: a cache of blocks, of which the least recently used goes first, whose requests wait for"
                        + " nobody; sglang or vllm: the engine's own rules in virtual time (radix tree or block pool,"
                        + " chunks, admission, retraction, running requests that hold their blocks), told by events as"
                        + " with --emit; sglang is the branch that has pin_blocks, or with --backend session the"
                        + " release with sessions, and vllm, which can hold nothing, is for --policy lru. Several"
                        + " times slower (default: plain).")
    private Rules rules = Rules.PLAIN;

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            description =
                    "With --emit engine-like or --rules sglang: pin or session: holds begin no faster than the sidecar"
                        + " begins them (default: as soon as they are chosen). With --emit both are the same, since"
                        + " there only their pace is modelled; with --rules sglang a pin is refused and a session hold"
                        + " is a request as it is in the engine.")
    private @Nullable Lever backend;

    @Option(
            names = "--held",
            description =
                    "Running requests hold their blocks and those of their answers; always so with --rules sglang or"
                            + " vllm.")
    private boolean held;

    @Option(
            names = "--hints",
            paramLabel = "P",
            description = "Each request says whether its conversation goes on, and is right with probability P.")
    private @Nullable Double hints;

    @Option(names = "--hint-seed", paramLabel = "N", defaultValue = "1", description = "Draws which hints are wrong.")
    private long hintSeed = 1;

    @Option(names = "--thin", paramLabel = "P", description = "Leave out each request with probability P.")
    private @Nullable Double thin;

    @Option(names = "--seed", paramLabel = "N", defaultValue = "1", description = "Draws which are left out.")
    private long seed = 1;

    @Option(names = "--ungated", description = "The same as --without gate.")
    private boolean ungated;

    @Option(
            names = "--without",
            paramLabel = "PART",
            split = ",",
            description =
                    "Leave out gate (pin without proof that pins help), shadow (pin until the engine itself finds less"
                        + " than a model without pins), share (a smaller share of the room where blocks stay long),"
                        + " reserve (leave no room for long prompts), ghosts (forget what was removed), tick (choose"
                        + " every ten seconds), or, with --emit, requests (take each announcement for a request of its"
                        + " own): to see what each is worth.")
    private List<Part> without = new ArrayList<>();

    @Option(
            names = "--show-text",
            description = "Show where two recorded requests part that differ early: some tokens of their prompts.")
    private boolean showText;

    @Option(names = "--json", description = "One JSON array, with one object for each capacity.")
    private boolean json;

    @Option(
            names = "--plot",
            paramLabel = "FILE.svg",
            description = "Also write the shares found over the capacities as a picture; what is there is replaced.")
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
