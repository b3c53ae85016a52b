package io.holdfast.loadtest.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.analysis.RunFindings.Item;
import io.holdfast.loadtest.analysis.RunFindings.Severity;
import io.holdfast.loadtest.journal.Arm;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.report.MarkdownRenderer;
import io.holdfast.loadtest.report.RunDocument;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RunFindingsTest {
    /** As an engine does that answers with nothing where a held prefix is asked for again. */
    private static final List<LegRecord> EMPTY_WHERE_HELD = Legs.run(10, 5).stream()
            .map(leg -> Legs.withRequests(
                    leg,
                    request -> leg.isMeasured()
                                    && leg.arm() == Arm.PINNED
                                    && request.role() == Role.PROBE
                                    && request.cycle() == 2
                            ? Legs.failed(request, RequestStatus.EMPTY, "no token")
                            : request))
            .toList();

    @Test
    void soundRun_hasNothingToLookInto() {
        RunFindings findings = RunFindings.of(result(Legs.run(10, 5)));

        assertThat(findings.all()).isEmpty();
        assertThat(findings.failures().failing()).isEmpty();
    }

    @Test
    void emptyAnswers_areHighWithTheirLegsAndComeFirst() {
        List<Item> all = RunFindings.of(result(EMPTY_WHERE_HELD)).all();

        assertThat(all).extracting(Item::severity).isSorted().startsWith(Severity.HIGH);
        assertThat(all)
                .filteredOn(item -> item.what().startsWith("8 requests ended as EMPTY, in 8 of 24 legs"))
                .singleElement()
                .satisfies(item -> assertThat(item.evidence())
                        .hasSize(6)
                        .contains("and 3 more")
                        .anyMatch(label -> label.endsWith("(pinned)")));
    }

    @Test
    void failures_areCountedWhereTheyStandWithWhatPassesBesideThem() {
        List<String> lines = RunFindings.of(result(EMPTY_WHERE_HELD)).failures().lines();

        assertThat(lines)
                .anyMatch(line -> line.startsWith("4/4  pinned/probe/leg1/cycle2  (passing beside it: ")
                        && line.contains("pinned/probe/leg1/cycle1"))
                .anyMatch(line ->
                        line.startsWith("All that failed has in common: arm pinned, request probe, cycle" + " cycle2"));
    }

    @Test
    void reports_haveTheSameFindingsInTheSameOrder() {
        Result result = result(EMPTY_WHERE_HELD);
        String markdown = MarkdownRenderer.text(RunDocument.text(result, RunMeasures.of(result), "run.jsonl"));

        assertThat(markdown)
                .containsSubsequence(
                        "* **High** ", "ended as EMPTY", "Requests that failed", "* 4/4  pinned/probe/leg1");
    }

    @Test
    void emptyAnswers_areInNoLatency() {
        var sound = RunMeasures.of(result(Legs.run(10, 5))).in(Arm.PINNED);
        var broken = RunMeasures.of(result(EMPTY_WHERE_HELD)).in(Arm.PINNED);

        assertThat(broken.ttft().orElseThrow().count())
                .isEqualTo(sound.ttft().orElseThrow().count() / 2);
        assertThat(broken.ttft().orElseThrow().p50())
                .isEqualTo(sound.ttft().orElseThrow().p50());
        assertThat(broken.ttft().orElseThrow().min()).isPositive();
    }

    private static Result result(List<LegRecord> legs) {
        return Analysis.of(new Journal.Contents(Legs.header(), legs, List.of()));
    }
}
