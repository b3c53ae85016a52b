package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.client.CompletionRoute;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.journal.ArmPlan;
import io.holdfast.loadtest.journal.LoadTestPlan;
import io.holdfast.loadtest.session.ArmCommands;
import io.holdfast.loadtest.session.Asking;
import io.holdfast.loadtest.session.LoadTestSession.Emptying;
import io.holdfast.loadtest.workload.Arrivals;
import io.holdfast.loadtest.workload.FloodShape;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The same twice: what the measurement itself does on a server, before anything is tried on it. */
@Command(
        name = "aa",
        description = {
            "Sends the same load twice, again and again, to any server with an OpenAI API. Shows by how much the"
                    + " second leg differs although nothing was changed, how far pairs scatter, and the"
                    + " smallest effect that could be shown. Nothing is held and nothing is judged.",
            "Exit code 3 when fewer than 4 pairs are valid."
        },
        footer = {
            "",
            "Examples:",
            "  holdfast loadtest aa --engine http://127.0.0.1:8000 --plan",
            "  holdfast loadtest aa --engine http://127.0.0.1:8000 --api chat --pairs 8"
        },
        sortOptions = false)
public final class LoadtestAaCommand implements Callable<Integer> {
    private static final int MOST_PAIRS = 1_000;

    /** Which of OpenAI's routes is asked. */
    enum Api {
        completions(CompletionRoute.OPENAI_TEXT),
        chat(CompletionRoute.OPENAI_CHAT);

        private final CompletionRoute route;

        Api(CompletionRoute route) {
            this.route = route;
        }
    }

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Mixin
    private AskedServer asked = new AskedServer();

    @Option(
            names = "--api",
            paramLabel = "NAME",
            defaultValue = "completions",
            description = "${COMPLETION-CANDIDATES}: by text or by one chat message (default: ${DEFAULT-VALUE}).")
    private Api api = Api.completions;

    @Mixin
    private ServerOptions started = new ServerOptions();

    @Mixin
    private AskOptions ask = new AskOptions();

    @Mixin
    private FlushOptions flush = new FlushOptions();

    @Option(
            names = "--pairs",
            paramLabel = "N",
            defaultValue = "8",
            description = "Pairs of two legs that count (default: ${DEFAULT-VALUE}).")
    private int pairs;

    @Mixin
    private LoadOptions load = new LoadOptions();

    @Option(
            names = "--flood-requests",
            paramLabel = "N",
            defaultValue = "8",
            description = "Unrelated requests before each probe (default: ${DEFAULT-VALUE}).")
    private int floodRequests;

    @Option(
            names = "--flood-tokens",
            paramLabel = "N",
            defaultValue = "512",
            description = "Words of each unrelated request (default: ${DEFAULT-VALUE}).")
    private int floodTokens;

    @Mixin
    private JournalOptions journal = new JournalOptions();

    @Option(
            names = "--plan",
            description =
                    "Print what would be sent and an estimated duration, measured by a few requests, and" + " exit.")
    private boolean planOnly;

    @Mixin
    private BedOptions bed = new BedOptions();

    @Mixin
    private OutputOptions output = new OutputOptions();

    LoadtestAaCommand() {}

    @Override
    public Integer call() {
        URI server = asked.server();
        if (pairs < 1 || pairs > MOST_PAIRS) {
            throw new CommandException("--pairs is 1 to " + MOST_PAIRS + ", not " + pairs + ".");
        }
        bed.check();
        Arrivals arrivals = load.arrivals();
        FloodShape shape = load.shape(floodRequests, floodTokens);
        LoadTestPlan plan = LoadTestPlan.defaults().toBuilder()
                .design(Design.CONTROLS)
                .rounds(pairs)
                .seed(load.seed())
                .concurrency(load.concurrency(arrivals, floodRequests))
                .burnIn(false)
                .rehearsal(true)
                // Nothing is judged that could be helped by choosing pairs.
                .repeatPairs(pairs)
                .freshLegs(started.isPerLeg())
                .profiler(started.wrapper())
                .target(new LoadTestPlan.Target(
                        server, List.of(), shape, arrivals.text(), ArmPlan.none(), flush.path(), ask.ca()))
                .build();
        AskedTest test = new AskedTest(
                plan,
                ArmCommands.none(),
                new Asking(
                        flush.on(ask.on(HttpSettings.defaults(), System.getenv())),
                        Optional.of(api.route),
                        asked.model().name()),
                Emptying.WHERE_NAMED,
                started,
                bed,
                Map.of());
        return output.run(
                spec.commandLine(), test, journal, planOnly, ask.again() + started.again(), new ExpectOptions());
    }
}
