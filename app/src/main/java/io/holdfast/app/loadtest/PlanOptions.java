package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.app.cli.SglangOptions;
import io.holdfast.evidence.Criteria;
import io.holdfast.evidence.Design;
import io.holdfast.loadtest.journal.LoadTestPlan;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Which orders of legs a run has, how many of them, and when its data is looked at. */
final class PlanOptions {
    private static final int USUAL_ROUNDS = 5;

    private enum Order {
        BOTH,
        NORMAL,
        REVERSED
    }

    private enum Blocks {
        ABBA
    }

    @Option(
            names = "--rounds",
            paramLabel = "N",
            description = "Rounds of one A/A, one normal and one reversed pair, or one of each kind that the plan"
                    + " has; below 4 nothing can be concluded (default: 5).")
    private @Nullable Integer rounds;

    @Option(
            names = "--looks",
            paramLabel = "N,N,...",
            hideParamSyntax = true,
            split = ",",
            description = "Rounds after which the data is judged, as 5,7,9. The run ends at the first look that"
                    + " decides; the error probability is divided among all looks (default: one look, at the end).")
    private List<Integer> looks = List.of();

    @Option(
            names = "--order",
            paramLabel = "NAME",
            defaultValue = "both",
            description = "both: A/A pairs, pairs with the baseline first and pairs with the pinned leg first."
                    + " normal: baseline first only, as in most benchmarks. reversed: pinned leg first only."
                    + " One order alone never decides (default: ${DEFAULT-VALUE}).")
    private String order = "both";

    @Option(
            names = "--blocks",
            paramLabel = "NAME",
            description = "abba: in place of pairs, lives of four legs, baseline-pinned-pinned-baseline and the"
                    + " opposite in equal numbers; for a server that starts slowly.")
    private @Nullable String blocks;

    @Option(names = "--anyway", description = "Run although fewer than 4 rounds cannot give a verdict.")
    private boolean anyway;

    PlanOptions() {}

    /**
     * The design that was asked for, once the options agree.
     *
     * @param freshLegs whether each leg is asked to have a process of its own
     * @param twoServers whether the arms differ in the server
     */
    Design design(boolean freshLegs, boolean twoServers) {
        Order asked = SglangOptions.choice("--order", order, Order.values());
        if (blocks != null) {
            SglangOptions.choice("--blocks", blocks, Blocks.values());
            if (asked != Order.BOTH || freshLegs || twoServers) {
                throw new CommandException("--blocks are of both orders and in one server life; leave "
                        + (asked != Order.BOTH ? "--order" : freshLegs ? "--restart-per leg" : "--arm-server-command")
                        + " out.");
            }
            return Design.BLOCKS;
        }
        return switch (asked) {
            case BOTH -> freshLegs ? Design.FRESH_LEGS : Design.CROSSOVER;
            case NORMAL -> Design.NORMAL;
            case REVERSED -> Design.REVERSED;
        };
    }

    LoadTestPlan.Builder on(LoadTestPlan.Builder settings, Design design) {
        refuseTooFewRounds();
        if (rounds != null && !looks.isEmpty() && looks.getLast() != (int) rounds) {
            throw new CommandException("--looks end after " + looks.getLast() + " rounds, and --rounds is " + rounds
                    + "; the last look is the end of the plan, so leave --rounds out.");
        }
        return settings.design(design)
                .rounds(rounds == null ? USUAL_ROUNDS : rounds)
                .looks(looks);
    }

    private void refuseTooFewRounds() {
        int least = Criteria.standard().minimumPerOrder();
        if (rounds != null && rounds > 0 && rounds < least && !anyway) {
            throw new CommandException("--rounds is " + rounds + ", and fewer than " + least
                    + " cannot give a verdict; write --rounds " + least + " or more, or --anyway.");
        }
        if (!looks.isEmpty() && looks.getFirst() < least && !anyway) {
            throw new CommandException("The first of --looks is after " + looks.getFirst() + " rounds, and fewer than "
                    + least + " cannot give a verdict; begin with " + least + " or more, or write --anyway.");
        }
    }
}
