package io.holdfast.app;

import io.holdfast.evidence.PairOrder;
import io.holdfast.loadtest.HoldReceipt;
import io.holdfast.loadtest.LegRecord;
import io.holdfast.loadtest.Progress;
import io.holdfast.loadtest.Result;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Tells the demo as it is played: one screen of 80 columns and 24 rows for each step. */
final class DemoStory implements Progress {
    private static final int BAR = 20;

    private final Page page;
    private final DemoSettings settings;
    private int life;
    private int lives;
    private PairOrder order = PairOrder.AA;

    DemoStory(Page page, DemoSettings settings) {
        this.page = page;
        this.settings = settings;
    }

    void opening() {
        page.line("Holdfast demo: does holding a prefix help, or does the order of the runs?");
        page.blank();
        page.paragraph(
                "",
                "An emulated SGLang engine with the pin_blocks routes and a sidecar run in this process, on real"
                        + " sockets. Every pair of legs gets a new engine"
                        + (settings.burnIn() ? ", and a burn-in leg that does not count." : "."));
        if (settings.warming()) {
            page.paragraph(
                    "",
                    "The engine warms up: until the first measured leg of its life is over, its time to first token"
                            + " (TTFT) is 25 % longer. Whatever runs second looks faster. Can the load test tell?");
        }
        if (!settings.faults().isEmpty()) {
            page.paragraph("", "The engine also misbehaves: " + settings.faults() + ".");
        }
    }

    void begin(Scene scene) {
        page.heading("(" + scene.letter() + ") " + scene.title());
        page.line(String.format(
                Locale.ROOT,
                "cache %,d tokens, prefix %,d; a leg: store the prefix, hold it or do a sham,",
                scene.capacityTokens(),
                scene.shape().prefixTokens()));
        page.line(String.format(
                Locale.ROOT,
                "then %d x (a flood of %,d unrelated tokens, 1 probe with the prefix)",
                scene.shape().cycles(),
                scene.shape().floodDemand()));
        int each = settings.blocks();
        page.line(String.format(
                Locale.ROOT,
                "%d engine lives, seeded order: %d A/A, %d baseline-pinned, %d pinned-baseline",
                3 * each,
                each,
                each,
                each));
    }

    @Override
    public void on(Event event) {
        switch (event) {
            case LifeStarted started -> {
                life = started.life();
                lives = started.lives();
                order = started.order();
                page.live(position(Optional.empty()));
            }
            case LegFinished finished -> {
                page.live(position(Optional.of(finished.left())));
            }
            case RunStarted started -> {}
            case StepStarted started -> {}
            case RunFinished finished -> {}
        }
    }

    private String position(Optional<Duration> left) {
        int done = lives == 0 ? 0 : BAR * life / lives;
        String what = switch (order) {
            case AA -> "baseline twice (A/A)";
            case BP -> "baseline then pinned";
            case PB -> "pinned then baseline";
        };
        return "%s  %-20s  [%s%s]%s"
                .formatted(
                        life == 0 ? "rehearsal " : String.format(Locale.ROOT, "life %2d/%2d", life, lives),
                        what,
                        "#".repeat(done),
                        ".".repeat(BAR - done),
                        left.map(rest -> "  about " + Math.max(1, rest.toSeconds()) + " s left")
                                .orElse(""));
    }

    void end(Played played) {
        Result result = played.result();
        page.blank();
        held(result);
        ResultReport.numbers(page, result);
        if (!played.asExpected()) {
            page.line("  expected: " + played.expectation());
            result.warnings().forEach(warning -> page.paragraph("  note: ", warning));
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
                    page.line(String.format(
                            Locale.ROOT, "  held: %d blocks, %,d tokens. Why:", hold.heldBlocks(), hold.heldTokens()));
                    page.paragraph("    ", hold.reason());
                },
                () -> page.line("  held: nothing"));
    }

    void automatic(AutomaticScene scene) {
        page.heading("(c) an automatic hold, without a verdict");
        page.paragraph(
                "",
                "A prefix is stored, lost to a flood, and stored again. With automatic holds on, the sidecar has seen"
                        + " the loss and holds it by itself; then the same flood again.");
        page.line(
                String.format(Locale.ROOT, "  probe after the first flood    %4d cached tokens", scene.cachedBefore()));
        page.line(
                String.format(Locale.ROOT, "  probe after the second flood   %4d cached tokens", scene.cachedAfter()));
        page.paragraph("  ", "held: " + scene.blocks() + " blocks. Why: " + scene.reason());
    }

    void closing(List<Played> played, boolean good) {
        page.blank();
        for (Played one : played) {
            page.line(String.format(
                    Locale.ROOT,
                    "(%s) %-32s %s",
                    one.scene().letter(),
                    one.result().verdict().headline(),
                    one.asExpected() ? "as it should be" : "expected " + one.expectation()));
        }
        page.line(
                good
                        ? "The load test found what is there."
                        : "The load test did not find what the demo expects: exit code 1.");
    }
}
