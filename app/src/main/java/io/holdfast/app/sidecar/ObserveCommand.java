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
            "Watches a running SGLang, vLLM or TensorRT-LLM, read-only: how long blocks stay and how soon they are used"
                    + " again; which prefixes requests share, how often these were lost and stored again, and what that"
                    + " cost; which requests differ early and so share nothing.",
            "Exit code 0: events were seen, 2: nothing answers, 3: no event came."
        },
        sortOptions = false)
public final class ObserveCommand implements Callable<Integer> {
    private static final Duration REDRAWN = Duration.ofSeconds(1);

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private EngineOptions engine = new EngineOptions();

    @Option(
            names = "--for",
            paramLabel = "TIME",
            description = "Time to watch, such as 10m (default: until" + " stopped).")
    private @Nullable String length;

    @Option(
            names = "--every",
            paramLabel = "TIME",
            defaultValue = "10s",
            description = "Time between two printed lines where the output is no terminal, and between two"
                    + " objects with --json and --for (default: ${DEFAULT-VALUE}).")
    private String every = "10s";

    @Option(
            names = "--record",
            paramLabel = "FILE",
            description = "Append events and readings to FILE as JSON lines. They contain tokens of prompts.")
    private @Nullable Path record;

    @Option(
            names = "--show-text",
            description = "Show an example of two requests that differ early, with some tokens of their prompts"
                    + " where they part, and the text of these where the engine has a tokenizer.")
    private boolean showText;

    @Option(
            names = "--json",
            description =
                    "Print JSON and nothing else: one object at the end, and with --for also one every" + " --every.")
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
