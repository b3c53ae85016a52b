package io.holdfast.app.sidecar;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.sidecar.TopTerminal.Pressed;
import io.holdfast.app.sidecar.TopTerminal.Size;
import io.holdfast.sidecar.client.OverviewCalls;
import io.holdfast.sidecar.config.SidecarException;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The engines of a running sidecar, live in a terminal. */
@Command(
        name = "top",
        description = {
            "Shows the engines of a running sidecar, live: whether holding helps, the effect with its interval, what is"
                    + " held, pressure, and the part of prompts found in the cache. The most urgent engine comes first;"
                    + " one is shown in detail. Where the output is no terminal it prints one screen and ends.",
            "HELD: number of held prefixes. CACHE: part of the cache that they take. RHO: residence time divided"
                    + " by reuse time (below 1.5 holding can help, above 5 it cannot). FOUND: part of the"
                    + " prompt tokens found in the cache. SIMUL.: additional prompt tokens that a simulation of"
                    + " the cache finds with holds always on; both over the last ten minutes. EFFECT: shown"
                    + " unless HOLDING says cannot tell. ?: unknown.",
            "Exit code 0: ended, 2: no sidecar answers."
        },
        sortOptions = false)
public final class TopCommand implements Callable<Integer> {
    private static final int ROWS = 24;
    private static final int COLUMNS = 80;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private OverviewOptions which = new OverviewOptions();

    @Option(names = "--once", description = "Print one screen and end, on a terminal too.")
    private boolean once;

    @Option(names = "--json", description = "Print the API's JSON document and nothing else.")
    private boolean json;

    TopCommand() {}

    /** What is known by now; replaced whole, by the thread that asks. */
    private record Seen(JsonNode overview, Optional<String> stale, Size size) {}

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        try (OverviewCalls calls = which.open()) {
            JsonNode first = calls.overview(Optional.empty());
            Optional<TopTerminal> terminal = once || json ? Optional.empty() : TopTerminal.open(out);
            if (json) {
                out.println(first.toPrettyString());
            } else if (terminal.isEmpty()) {
                // Everything there is to tell, since nobody can scroll.
                int rows = ROWS + first.path("engines").size();
                new TopFrame(first, which.sidecar().toString(), 0, COLUMNS, rows, false, Optional.empty())
                        .lines(false)
                        .forEach(out::println);
            } else {
                try (TopTerminal live = terminal.get()) {
                    follow(calls, first, live);
                }
            }
        }
        out.flush();
        return ExitCode.OK;
    }

    private void follow(OverviewCalls calls, JsonNode first, TopTerminal terminal) throws IOException {
        boolean colour = System.getenv("NO_COLOR") == null;
        Chosen chosen = new Chosen();
        Latest latest = new Latest(new Seen(first, Optional.empty(), terminal.size()));
        ScheduledExecutorService asking = Executors.newSingleThreadScheduledExecutor(
                Thread.ofPlatform().name("holdfast-top").daemon().factory());
        try {
            var _ = asking.scheduleWithFixedDelay(
                    () -> latest.set(look(calls, latest.get(), chosen.id(), terminal)), 1, 1, TimeUnit.SECONDS);
            Pressed key = Pressed.NONE;
            while (key != Pressed.QUIT) {
                Seen seen = latest.get();
                int row = chosen.move(
                        seen.overview().path("engines"), key, seen.size().rows() / 2);
                terminal.draw(new TopFrame(
                                seen.overview(),
                                which.sidecar().toString(),
                                row,
                                seen.size().columns(),
                                seen.size().rows(),
                                colour,
                                seen.stale())
                        .lines(true));
                key = terminal.key();
            }
        } finally {
            asking.shutdownNow();
        }
    }

    private static Seen look(OverviewCalls calls, Seen before, Optional<String> engine, TopTerminal terminal) {
        Size size = terminal.size();
        try {
            return new Seen(calls.overview(engine), Optional.empty(), size);
        } catch (SidecarException silent) {
            return new Seen(before.overview(), Optional.of(String.valueOf(silent.getMessage())), size);
        }
    }

    /** The last look, from one thread to another. */
    private static final class Latest {
        private volatile Seen seen;

        private Latest(Seen first) {
            seen = first;
        }

        private Seen get() {
            return seen;
        }

        private void set(Seen next) {
            seen = next;
        }
    }

    /** The engine in detail: it stays the same when another one becomes more urgent. */
    private static final class Chosen {
        private volatile Optional<String> id = Optional.empty();

        private Optional<String> id() {
            return id;
        }

        private int move(JsonNode engines, Pressed key, int page) {
            int now = 0;
            for (int i = 0; i < engines.size(); i++) {
                if (id.filter(engines.path(i).path("id").asText()::equals).isPresent()) {
                    now = i;
                }
            }
            int next = switch (key) {
                case UP -> now - 1;
                case DOWN -> now + 1;
                case PAGE_UP -> now - page;
                case PAGE_DOWN -> now + page;
                case NONE, QUIT -> now;
            };
            int row = Math.max(0, Math.min(engines.size() - 1, next));
            id = engines.isEmpty()
                    ? Optional.empty()
                    : Optional.of(engines.path(row).path("id").asText());
            return row;
        }
    }
}
