package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Gates;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.measure.LoadResult;
import io.holdfast.loadtest.measure.Measures;
import io.holdfast.loadtest.measure.ResultFile;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A journal of {@code loadtest run}: each measured leg that went through, and passed its gates, is a repetition of its
 * arm.
 */
final class OwnJournal implements ToolFormat {
    @Override
    public boolean wrote(JsonNode first) {
        return first.path("run").has("format") && first.path("run").has("plan");
    }

    @Override
    public Imported read(List<JsonNode> documents, Path file) {
        Journal.Contents run = Journal.read(file);
        Gates gates = new Gates(run.header());
        List<LegRecord> through = run.legs().stream()
                .filter(leg -> leg.isMeasured() && leg.problem().isEmpty())
                .toList();
        List<String> failed = through.stream()
                .flatMap(leg -> gates.failedBy(leg).stream().limit(1))
                .toList();
        List<LoadResult> legs = through.stream()
                .filter(leg -> gates.failedBy(leg).isEmpty())
                .map(OwnJournal::result)
                .toList();
        if (legs.isEmpty()) {
            throw new LoadTestException("The journal " + file + " has no leg that went through"
                    + (failed.isEmpty() ? "" : " and passed its gates (" + failed.getFirst() + ")")
                    + "; finish the run first.");
        }
        List<String> notes = new ArrayList<>();
        notes.add("Legs of both positions are in each arm; whether holding helped is 'loadtest analyze's to say, which"
                + " takes the order into account.");
        if (!failed.isEmpty()) {
            notes.add("%d of %d legs failed a gate and are left out, the first because: %s"
                    .formatted(failed.size(), through.size(), failed.getFirst()));
        }
        return new Imported(
                "holdfast journal",
                new ResultFile(
                        "loadtest run",
                        run.header().client().getOrDefault("serves", "unknown"),
                        run.header().startedAt(),
                        Map.of("server", run.header().engine().text()),
                        legs),
                notes);
    }

    private static LoadResult result(LegRecord leg) {
        String arm = leg.arm().name().toLowerCase(Locale.ROOT);
        List<RequestRecord> counted = leg.probes().isEmpty() ? leg.requests() : leg.probes();
        Map<String, Integer> failures = new LinkedHashMap<>();
        counted.stream()
                .filter(request -> !request.isOk())
                .forEach(request -> failures.merge(request.status().toString(), 1, Integer::sum));
        return new LoadResult(
                arm + "/life" + leg.life() + "-" + leg.position(),
                leg.probes().isEmpty() ? "requests" : "probes",
                Optional.of(leg.workloadId()),
                "holdfast",
                Map.of("arm", arm),
                counted.size(),
                failures,
                Measures.of(counted));
    }
}
