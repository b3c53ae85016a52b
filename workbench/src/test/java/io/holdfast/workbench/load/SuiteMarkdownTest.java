package io.holdfast.workbench.load;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.journal.RequestStatus;
import io.holdfast.loadtest.journal.TokenStamps;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.Role;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SuiteMarkdownTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void wholeSuite_isOneTableInTheRoundingOfTables() {
        SuiteMarkdown suite =
                suite(List.of("baseline", "burst"), leg("baseline", answered()), leg("burst", answered()));

        assertThat(suite.isWhole()).isTrue();
        assertThat(suite.hasFailed()).isFalse();
        assertThat(suite.finalReport())
                .startsWith("# Final report: demo\n\n**COMPLETE: 2 of 2 legs (100.0 %)**")
                .contains(
                        "| leg | output throughput | request throughput | TTFT P50 | TTFT P95 | TTFT P99 | ITL P50 |"
                                + " ITL P95 | ITL P99 | E2E P50 | cached share | errors |",
                        "| baseline | 17.6 tok/s | 0.3 req/s | 86 ms | 86 ms | 86 ms | 56 ms | 56 ms | 56 ms | 2.890 s"
                                + " | 25.0 % | 0 |")
                .contains("Nothing: every request of every leg was answered.", "* api: completions");
        assertThat(suite.experiments())
                .contains("## baseline\n\nLoad a load, 1 of 1 requests answered")
                .contains("|  | value | measured by |")
                .contains("| TTFT P50 | 86 ms | the client's clock |")
                .contains("| cached share | 25.0 % | the server's usage counts |")
                .contains("| output throughput | 17.6 tok/s | the server's usage counts over the client's clock |");
    }

    @Test
    void whatTheSuiteSaidOfItself_isWhatToLookInto() {
        SuiteMarkdown suite = suite(List.of("baseline"), leg("baseline", answered()));
        LoadFolder.writeFindings(
                folder.resolve("suite"), List.of("baseline: MIXED: some requests took far longer than the median."));
        assertThat(suite.finalReport())
                .contains("* baseline: MIXED: some requests took far longer than the median.\n")
                .contains("\nEvery request of every leg was answered.\n")
                .doesNotContain("Nothing");
        LoadFolder.writeFindings(folder.resolve("suite"), List.of());
        assertThat(suite.finalReport()).contains("Nothing: every request of every leg was answered.");
    }

    @Test
    void halfASuite_isPartialAndNamesWhatIsMissing() {
        SuiteMarkdown suite = suite(List.of("a", "b", "c"), leg("a", answered()));

        assertThat(suite.isWhole()).isFalse();
        assertThat(suite.finalReport())
                .contains("**PARTIAL: 1 of 3 legs (33.3 %), the last of them a**", "## Missing\n\n* b\n* c\n");
        assertThat(suite.experiments()).contains("* b\n* c\n");
    }

    @Test
    void failures_areFindingsByGravityWithTheirPattern() {
        SuiteMarkdown suite = suite(
                List.of("b1/warm/pass1", "b1/warm/pass2", "b2/warm/pass1", "b2/warm/pass2", "b2/cold/pass1"),
                leg("b1/warm/pass1", answered()),
                leg("b1/warm/pass2", Legs.failed(answered(), RequestStatus.TIMED_OUT, "no end within 60 s")),
                leg("b2/warm/pass1", Legs.failed(answered(), RequestStatus.EMPTY, "no token")),
                leg("b2/warm/pass2", Legs.failed(answered(), RequestStatus.EMPTY, "no token")),
                leg("b2/cold/pass1", answered()));

        assertThat(suite.hasFailed()).isTrue();
        assertThat(suite.finalReport())
                .containsSubsequence(
                        "* **High** b2/warm/pass1: 1 of 1 requests failed, EMPTY",
                        "* **High** b2/warm/pass2",
                        "* **Medium** b1/warm/pass2",
                        "* 1/2  b1/warm",
                        "* 2/2  b2/warm  (passing beside it: b2/cold)");
    }

    @Test
    void legThatEndedEarly_isAFailureEvenWhereAllItsRequestsWereAnswered() {
        LoadLeg whole = leg("a", answered());
        SuiteMarkdown suite = suite(
                List.of("a"),
                new LoadLeg(
                        whole.id(),
                        whole.load(),
                        "w",
                        "",
                        Map.of(),
                        whole.startedAt(),
                        List.of(new LoadLeg.Part("load", true, 0, 3_000_000_000L, List.of(answered()))),
                        Map.of(),
                        Optional.empty(),
                        Optional.of("the server ended")));

        assertThat(suite.hasFailed()).isTrue();
        assertThat(suite.finalReport()).contains("* **High** a: the server ended");
        assertThat(suite.experiments()).contains("It ended early: the server ended.");
    }

    private SuiteMarkdown suite(List<String> ids, LoadLeg... legs) {
        Map<String, String> plan = new LinkedHashMap<>();
        ids.forEach(id -> plan.put(id, "w"));
        LoadFolder files = LoadFolder.create(
                folder.resolve("suite"), new LoadFolder.Plan("demo", Map.of("api", "completions"), plan));
        List.of(legs).forEach(files::add);
        return new SuiteMarkdown(LoadFolder.open(folder.resolve("suite")), List.of(50.0), Optional.empty());
    }

    private static LoadLeg leg(String id, RequestRecord request) {
        return new LoadLeg(
                id,
                "a load",
                "w",
                "",
                Map.of(),
                "2026-01-01T00:00:00Z",
                List.of(new LoadLeg.Part("load", true, 0, 3_000_000_000L, List.of(request))),
                Map.of(),
                Optional.empty(),
                Optional.empty());
    }

    /** 51 tokens: the first after 85.5 ms, the last after 2.8904 s. */
    private static RequestRecord answered() {
        return new RequestRecord(
                0,
                Role.LOAD,
                1,
                RequestStatus.OK,
                0,
                0,
                OptionalLong.of(85_500_000),
                OptionalLong.of(85_500_000),
                OptionalLong.of(2_890_400_000L),
                2_900_000_000L,
                OptionalInt.of(64),
                OptionalInt.of(51),
                OptionalInt.of(16),
                "",
                OptionalInt.empty(),
                OptionalLong.empty(),
                new TokenStamps("0 2750000*49 54900"));
    }
}
