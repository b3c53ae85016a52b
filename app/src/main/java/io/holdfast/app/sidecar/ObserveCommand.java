package io.holdfast.app.sidecar;

import io.holdfast.app.cli.EngineOptions;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.app.cli.TimeSpan;
import io.holdfast.app.cli.UntilStopped;
import io.holdfast.sidecar.look.FrameRecorder;
import io.holdfast.sidecar.look.Observation;
import io.holdfast.sidecar.look.Observer;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Watches an engine's cache without touching it, and tells what it loses and what that costs. */
@Command(
        name = "observe",
        description = {
            "Watches a running SGLang or vLLM without touching it: how long blocks stay, how soon they are used again,"
                + " which prefixes requests share, what of them was lost and stored again, what that cost, and which"
                + " requests could share more if they began alike.",
            "Exit code 0: something was seen, 2: nothing answers, 3: no event came."
        },
        sortOptions = false)
public final class ObserveCommand implements Callable<Integer> {
    private static final Duration REDRAWN = Duration.ofSeconds(1);

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Option(names = "--for", paramLabel = "TIME", description = "How long, such as 10m (default: until stopped).")
    private @Nullable String length;

    @Option(
            names = "--every",
            paramLabel = "TIME",
            defaultValue = "10s",
            description = "How often a line is printed where the output is no terminal, and with --json and --for"
                    + " (default: ${DEFAULT-VALUE}).")
    private String every = "10s";

    @Option(
            names = "--record",
            paramLabel = "FILE",
            description = "Append the events as they come, and the readings, to FILE: JSON lines, tokens of prompts in"
                    + " them.")
    private @Nullable Path record;

    @Option(
            names = "--show-text",
            description = "Show at the end where two requests part that differ early: some tokens of their prompts, and"
                    + " their text where the engine's tokenizer gives it.")
    private boolean showText;

    @Option(
            names = "--json",
            description = "Print JSON and nothing else: one object at the end, and with --for one for each --every.")
    private boolean json;

    ObserveCommand() {}

    @Override
    public Integer call() throws InterruptedException {
        Optional<Duration> most =
                Optional.ofNullable(length).map(text -> TimeSpan.parse("--for", text, Duration.ofSeconds(1)));
        Duration pace = TimeSpan.parse("--every", every, Duration.ofMillis(200));
        boolean terminal = !json && TerminalText.onTerminal();
        PrintWriter out = spec.commandLine().getOut();
        ObservePrinter printer = new ObservePrinter(out, most);
        Optional<FrameRecorder> recorder = Optional.ofNullable(record).map(FrameRecorder::open);
        Observation last;
        try (UntilStopped stop = new UntilStopped();
                Observer observer = Observer.open(engine.target(Optional.empty()), recorder, new SplittableRandom())) {
            long end = System.nanoTime() + most.orElse(Duration.ofDays(36_500)).toNanos();
            Duration step = terminal ? REDRAWN : pace;
            while (!stop.await(least(step, Duration.ofNanos(end - System.nanoTime()))) && System.nanoTime() - end < 0) {
                Observation seen = observer.look();
                if (terminal) {
                    printer.redraw(seen);
                } else if (!json) {
                    printer.line(seen);
                } else if (most.isPresent()) {
                    out.println(ObserveJson.line(seen, false));
                    out.flush();
                }
            }
            last = showText ? observer.lookWithExamples() : observer.look();
            if (json) {
                out.println(ObserveJson.line(last, true));
            } else {
                printer.end(last, terminal);
                recorder.ifPresent(file -> printer.recorded(String.valueOf(record), file));
            }
            out.flush();
        }
        return last.silent() ? ExitCode.INCONCLUSIVE : ExitCode.OK;
    }

    private static Duration least(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other.isNegative() ? Duration.ZERO : other;
    }
}
