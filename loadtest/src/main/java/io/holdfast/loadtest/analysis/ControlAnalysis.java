package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.CrossoverData;
import io.holdfast.evidence.Estimate;
import io.holdfast.evidence.Spread;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RunHeader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.TreeMap;

/**
 * Turns the legs of an A/A run into its figures. A pure function of what the journal holds.
 *
 * <p>A pair stands when both of its legs passed every gate that a leg passes or fails on its own. Which pairs break
 * cannot lie with an arm, since there is one, so the others count without them.
 */
public final class ControlAnalysis {
    private static final double[] NONE = {};

    private final RunHeader header;
    private final Gates gates;
    private final List<LegRecord> standing = new ArrayList<>();
    private final List<String> broken = new ArrayList<>();

    private ControlAnalysis(RunHeader header) {
        this.header = header;
        this.gates = new Gates(header);
    }

    /** Reads an A/A run from its journal alone. */
    public static ControlResult of(Path journal) {
        return of(Journal.read(journal));
    }

    public static ControlResult of(Journal.Contents run) {
        if (!run.header().plan().isOnlyControls()) {
            throw new LoadTestException(
                    "The journal is that of a run with holds, which has a verdict; it has no A/A figures of its own.");
        }
        return new ControlAnalysis(run.header()).result(run);
    }

    private ControlResult result(Journal.Contents run) {
        List<String> warnings = new ArrayList<>(run.warnings());
        warnings.addAll(RunStatus.interruptions(run));
        Gates.profiled(run.header()).ifPresent(warnings::add);
        Gates.shortages(run.legs().stream().filter(LegRecord::isMeasured).toList())
                .ifPresent(warnings::add);
        UntoldZeros zeros = UntoldZeros.of(header, run.legs());
        zeros.noteOfProbes().ifPresent(warnings::add);
        double[] ratios = pairs(zeros.legs()).values().stream()
                .flatMapToDouble(pair -> logRatio(pair).stream())
                .toArray();
        return new ControlResult(
                header,
                Estimate.of(CrossoverData.of(ratios, NONE, NONE)),
                Spread.of(ratios),
                ArmSummary.of(standing),
                broken,
                zeros.legs(),
                run.voided(),
                warnings);
    }

    /** The measured legs of each life, by their position. */
    private static Map<Integer, Map<Integer, LegRecord>> pairs(List<LegRecord> legs) {
        Map<Integer, Map<Integer, LegRecord>> pairs = new TreeMap<>();
        for (LegRecord leg : legs) {
            if (leg.isMeasured()) {
                pairs.computeIfAbsent(leg.life(), life -> new TreeMap<>()).put(leg.position(), leg);
            }
        }
        return pairs;
    }

    private OptionalDouble logRatio(Map<Integer, LegRecord> pair) {
        List<String> failed = pair.values().stream()
                .flatMap(leg -> gates.failedBy(leg).stream())
                .toList();
        broken.addAll(failed);
        LegRecord first = pair.get(1);
        LegRecord second = pair.get(2);
        if (!failed.isEmpty() || first == null || second == null) {
            return OptionalDouble.empty();
        }
        OptionalDouble before = header.statistic().of(first.requests());
        OptionalDouble after = header.statistic().of(second.requests());
        if (before.isEmpty() || after.isEmpty() || before.getAsDouble() <= 0 || after.getAsDouble() <= 0) {
            broken.add("In pair " + first.life() + " a leg has no time to first token above zero.");
            return OptionalDouble.empty();
        }
        standing.add(first);
        standing.add(second);
        return OptionalDouble.of(Math.log(after.getAsDouble() / before.getAsDouble()));
    }
}
