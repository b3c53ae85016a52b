package io.holdfast.app.demo;

import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.cli.TerminalText;
import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.analysis.Result;
import io.holdfast.loadtest.journal.HoldReceipt;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.run.Progress;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Prints the demo as it runs: one screen of 80 columns and 24 rows for each step, and what is being done meanwhile. */
public final class DemoPrinter implements Progress {
    private static final int BAR = 10;

    private final TerminalText text;
    private final DemoSettings settings;
    private int life;
    private int lives;
    private PairOrder order = PairOrder.AA;
    private Optional<Duration> left = Optional.empty();

    public DemoPrinter(TerminalText text, DemoSettings settings) {
        this.text = text;
        this.settings = settings;
    }

    void opening() {
        text.line("Holdfast demo: does holding a prefix help, or does the order of the runs?");
        text.blank();
        text.paragraph(
                "",
                "An emulated SGLang engine with the pin_blocks routes and a sidecar run in this process, on real"
                        + " sockets. Every pair of legs gets a new engine"
                        + (settings.burnIn() ? ", and a burn-in leg that does not count." : "."));
        if (settings.warming()) {
            text.paragraph(
                    "",
                    "The engine warms up: until the first measured leg of its life is over, its time to first token"
                            + " (TTFT) is 25 % longer. Whatever runs second looks faster. Can the load test tell?");
        }
        if (!settings.faults().isEmpty()) {
            text.paragraph("", "The engine also misbehaves: " + settings.faults() + ".");
        }
    }

    public void begin(DemoScenario scenario) {
        left = Optional.empty();
        text.heading("(" + scenario.letter() + ") " + scenario.title());
        text.line(String.format(
                Locale.ROOT,
                "cache %,d tokens, prefix %,d; a leg: store the prefix, hold it or do a sham,",
                scenario.capacityTokens(),
                scenario.shape().prefixTokens()));
        text.line(String.format(
                Locale.ROOT,
                "then %d x (a flood of %,d unrelated tokens, 1 probe with the prefix)",
                scenario.shape().cycles(),
                scenario.shape().floodDemand()));
        int each = settings.rounds();
        text.line(String.format(
                Locale.ROOT,
                "%d engine lives, seeded order: %d A/A, %d baseline-pinned, %d pinned-baseline",
                3 * each,
                each,
                each,
                each));
        text.live("starting an engine and a sidecar");
    }

    @Override
    public void on(Event event) {
        switch (event) {
            case LifeStarted started -> {
                life = started.life();
                lives = started.lives();
                order = started.order();
                text.live(position("a new engine"));
            }
            case StepStarted started -> text.live(position(step(started)));
            case LegFinished finished -> left = Optional.of(finished.left());
            case RunStarted started -> {}
            case PairVoided voided -> text.live(position("again, later"));
            case Note note -> text.paragraph("", note.sentence());
            case RunFinished finished -> {}
        }
    }

    private static String step(Progress.StepStarted step) {
        String leg = step.position() == 0 ? "burn-in" : "leg " + step.position();
        String cycle = step.cycle() > 0 ? " " + step.cycle() : "";
        return leg + ": " + step.step().name().toLowerCase(Locale.ROOT) + cycle;
    }

    private String position(String doing) {
        int done = lives == 0 ? 0 : BAR * life / lives;
        String what = switch (order) {
            case AA -> "baseline twice";
            case BP -> "baseline, pinned";
            case PB -> "pinned, baseline";
            case BPPB, PBBP -> throw new IllegalStateException("The demo runs pairs.");
        };
        return "%s  %-16s  %-16s  [%s%s]%s"
                .formatted(
                        life == 0 ? "rehearsal " : String.format(Locale.ROOT, "life %2d/%2d", life, lives),
                        what,
                        doing,
                        "#".repeat(done),
                        ".".repeat(BAR - done),
                        left.map(rest -> "  about " + Math.max(1, rest.toSeconds()) + " s left")
                                .orElse(""));
    }

    public void end(DemoOutcome outcome) {
        Result result = outcome.result();
        text.blank();
        held(result);
        text.show(RunDocument.numbers(result));
        switch (outcome.judgement()) {
            case EXPECTED -> {
                if (!outcome.sawOrderBias()) {
                    text.paragraph(
                            "  note: ",
                            "The order bias was " + (settings.warming() ? "there and" : "not there and yet")
                                    + (settings.warming() ? " was not shown" : " was shown")
                                    + ": this machine is noisy. The verdict does not hang on it.");
                }
            }
            case TOO_BUSY, TOO_FEW_ROUNDS, UNEXPECTED -> {
                text.line("  expected: " + outcome.expectation());
                result.warnings().forEach(warning -> text.paragraph("  note: ", warning));
            }
        }
    }

    private void held(Result result) {
        Optional<HoldReceipt> receipt = result.legs().stream()
                .filter(LegRecord::isMeasured)
                .map(LegRecord::hold)
                .filter(hold -> hold.kind() == HoldReceipt.Kind.HELD)
                .findFirst();
        receipt.ifPresentOrElse(
                hold -> {
                    text.line(String.format(
                            Locale.ROOT, "  held: %d blocks, %,d tokens. Why:", hold.heldBlocks(), hold.heldTokens()));
                    text.paragraph("    ", hold.reason());
                },
                () -> text.line("  held: nothing"));
    }

    public void beginAutomatic() {
        text.heading("(c) an automatic hold, without a verdict");
        text.paragraph(
                "",
                "The texts of six users begin with a system prompt that nobody sends alone. A flood evicts it, and six"
                        + " more texts come. With automatic holds on, the sidecar has seen what they share and that it"
                        + " was lost, and holds it automatically. Then the same flood and six texts come again.");
    }

    /** Shows the current activity in a line that the next one replaces. */
    void doing(String what) {
        text.live(what);
    }

    public void automatic(AutomaticScenario scenario) {
        round("after the first flood ", scenario.before(), scenario.texts());
        round("after the second flood", scenario.after(), scenario.texts());
        text.paragraph("  ", "held: " + scenario.blocks() + " blocks. Why: " + scenario.reason());
    }

    private void round(String when, AutomaticScenario.Round round, int texts) {
        text.line(String.format(
                Locale.ROOT,
                "  %s   %d of %d texts found the prompt, the first with %d cached tokens",
                when,
                round.hits(),
                texts,
                round.firstCached()));
    }

    public void closing(List<DemoOutcome> outcomes, int code) {
        text.blank();
        for (DemoOutcome outcome : outcomes) {
            text.line(String.format(
                    Locale.ROOT,
                    "(%s) %-32s %s",
                    outcome.scenario().letter(),
                    outcome.result().verdict().headline(),
                    switch (outcome.judgement()) {
                        case EXPECTED -> "as it should be";
                        case TOO_BUSY -> "too busy a machine to tell";
                        case TOO_FEW_ROUNDS -> "too few rounds to tell";
                        case UNEXPECTED -> "expected " + outcome.expectation();
                    }));
        }
        outcomes.stream()
                .filter(outcome -> outcome.judgement() == DemoOutcome.Judgement.TOO_BUSY)
                .findFirst()
                .ifPresent(outcome -> text.paragraph(
                        "",
                        String.format(
                                Locale.ROOT,
                                "This machine was too busy to tell: what should have taken %d ms took up to %.0f ms"
                                        + " longer. Run the demo again with less other load.",
                                outcome.result().header().slotMillis(),
                                outcome.worstLatenessMillis())));
        text.line(
                switch (code) {
                    case ExitCode.OK -> "The load test found what is there.";
                    case ExitCode.INCONCLUSIVE -> "The load test cannot tell: exit code 3.";
                    default -> "The load test did not find what the demo expects: exit code 1.";
                });
    }
}
