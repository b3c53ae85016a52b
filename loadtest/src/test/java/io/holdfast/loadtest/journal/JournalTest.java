package io.holdfast.loadtest.journal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.analysis.Analysis;
import io.holdfast.loadtest.testing.Legs;
import io.holdfast.loadtest.workload.FloodShape;
import io.holdfast.loadtest.workload.Salt;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JournalTest {
    private final List<LegRecord> legs = Legs.run(10, 5);

    @TempDir
    private Path folder = Path.of("");

    private Path file = Path.of("");

    @BeforeEach
    void nameFile() {
        file = folder.resolve("run.jsonl");
    }

    @Test
    void whatIsWritten_isReadBackEqual() {
        write(legs);
        Journal.Contents contents = Journal.read(file);
        assertThat(contents.header()).isEqualTo(Legs.header());
        assertThat(contents.legs()).isEqualTo(legs);
        assertThat(contents.warnings()).isEmpty();
    }

    @Test
    void journalAlone_givesTheSameResultAsTheLegs() {
        write(legs);
        assertThat(Analysis.of(file)).isEqualTo(Analysis.of(new Journal.Contents(Legs.header(), legs, List.of())));
    }

    @Test
    void eachLeg_isOneLine() throws IOException {
        write(legs);
        assertThat(Files.readAllLines(file))
                .hasSize(1 + legs.size())
                .allMatch(line -> line.startsWith("{\"run\":{") || line.startsWith("{\"leg\":{"));
    }

    @Test
    void tornLastLine_isLeftOutWithAWarning() throws IOException {
        write(legs);
        String text = Files.readString(file);
        for (int cut : new int[] {1, 10, 500}) {
            Files.writeString(file, text.substring(0, text.length() - 1 - cut));
            Journal.Contents contents = Journal.read(file);
            assertThat(contents.legs()).isEqualTo(legs.subList(0, legs.size() - 1));
            assertThat(contents.warnings()).singleElement().asString().contains("torn");
        }
    }

    @Test
    void lastLineWithoutItsLineEnd_isWhole() throws IOException {
        write(legs);
        String text = Files.readString(file);
        Files.writeString(file, text.substring(0, text.length() - 1));
        assertThat(Journal.read(file).legs()).isEqualTo(legs);
    }

    @Test
    void lineTornWithinACharacter_isLeftOutWithAWarning() throws IOException {
        write(legs.subList(0, 2));
        byte[] whole = Files.readAllBytes(file);
        byte[] torn = "{\"leg\":{\"bodies\":\"\u00e9".getBytes(StandardCharsets.UTF_8);
        Files.write(file, whole);
        Files.write(file, Arrays.copyOf(torn, torn.length - 1), StandardOpenOption.APPEND);
        Journal.Contents contents = Journal.read(file);
        assertThat(contents.legs()).isEqualTo(legs.subList(0, 2));
        assertThat(contents.warnings()).singleElement().asString().contains("torn");
    }

    @Test
    void damagedLastLineWithItsLineEnd_isRefusedByItsNumber() throws IOException {
        write(legs.subList(0, 2));
        Files.writeString(file, "{\"leg\":{\"life\":\n", StandardOpenOption.APPEND);
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 4 of the journal");
    }

    @Test
    void damagedLineInTheMiddle_isRefusedByItsNumber() throws IOException {
        write(legs.subList(0, 3));
        List<String> lines = Files.readAllLines(file);
        Files.write(file, List.of(lines.get(0), lines.get(1), "{\"leg\":{\"life\":", lines.get(3)));
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageStartingWith("Line 3 of the journal");
    }

    @Test
    void missingFieldOfALeg_isRefused() throws IOException {
        write(legs.subList(0, 2));
        List<String> lines = Files.readAllLines(file);
        Files.write(file, List.of(lines.get(0), lines.get(1).replaceFirst("\"holdNanos\":\\d+,", ""), lines.get(2)));
        assertThatThrownBy(() -> Journal.read(file))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("holdNanos");
    }

    @Test
    void existingFile_isNeverWrittenTo() throws IOException {
        Files.writeString(file, "mine");
        assertThatThrownBy(() -> Journal.create(file, Legs.header()))
                .isInstanceOf(LoadTestException.class)
                .hasMessage("The journal " + file + " exists already and is not overwritten; name another file.");
        assertThat(Files.readString(file)).isEqualTo("mine");
    }

    @Test
    void formatBefore_isReadAndWhatItDoesNotTellIsUnknown() throws IOException {
        write(legs);
        List<String> lines = new ArrayList<>(Files.readAllLines(file));
        String id = JournalReader.id(lines.getFirst());
        lines.set(0, olderHead(4, ""));
        String older = JournalReader.id(lines.getFirst());
        lines.replaceAll(line -> line.replace(id, older)
                .replace(",\"client\":null", "")
                .replace(",\"sentTokens\":null,\"firstAnswer\":null,\"tokens\":\"\"", ""));
        assertThat(lines.get(1)).doesNotContain("client", "firstAnswer");
        Files.write(file, lines);
        assertThat(Journal.read(file).legs()).isEqualTo(legs);
        assertThat(Journal.read(file).header().test()).isEqualTo(Legs.header().test());
    }

    /** The head of format 5 had the plan in numbers of its own and in the options of the command. */
    @Test
    void formatWithOptions_isReadAsAPlan() throws IOException {
        Files.writeString(
                file,
                olderHead(
                                5,
                                "\"url\":\"http://127.0.0.1:1\",\"engine\":\"http://127.0.0.1:2 http://127.0.0.1:3\","
                                        + "\"hold\":\"keep-warm\",\"touch-every\":\"2\",\"prefix-tokens\":\"64\","
                                        + "\"suffix-tokens\":\"8\",\"flood-requests\":\"5\",\"flood-tokens\":\"40\","
                                        + "\"cycles\":\"3\",\"output-tokens\":\"4\",\"ca\":\"/etc/ca.pem\","
                                        + "\"also-judge\":\"PROBE_P95,PROBE_MEAN\",\"max-duration-ms\":\"5400000\","
                                        + "\"restart-per\":\"leg\",\"server-wrapper\":\"nsys profile\","
                                        + "\"environment.cores\":\"2\"")
                        + "\n");
        RunHeader header = Journal.read(file).header();
        LoadTestPlan test = header.test();
        assertThat(test.target())
                .contains(new LoadTestPlan.Target(
                        URI.create("http://127.0.0.1:1"),
                        List.of(URI.create("http://127.0.0.1:2"), URI.create("http://127.0.0.1:3")),
                        FloodShape.of(64, 8, 5, 40, 3).withOutputTokens(1, 4),
                        "closed",
                        new ArmPlan.KeepWarm(2),
                        Optional.empty(),
                        Optional.of(Path.of("/etc/ca.pem"))));
        assertThat(test.judgedBy()).containsExactly(Statistic.PROBE_P50, Statistic.PROBE_P95, Statistic.PROBE_MEAN);
        assertThat(test.mostTime()).contains(Duration.ofMinutes(90));
        assertThat(test.freshLegs()).isTrue();
        assertThat(test.profiler()).contains("nsys profile");
        assertThat(header.environment()).containsExactly(Map.entry("cores", "2"));
    }

    /** Each way to hold that options could name is an arm of the plan. */
    @Test
    void armsOfTheFormatWithOptions_areRead() throws IOException {
        URI sidecar = URI.create("http://127.0.0.1:8471");
        String beside = ",\"sidecar\":\"" + sidecar + "\",\"engine-id\":\"main\"";
        Map<String, ArmPlan> arms = Map.of(
                "\"hold\":\"pin-route\"",
                new ArmPlan.ByEngine(ArmPlan.Means.PIN_ROUTE),
                "\"hold\":\"sidecar\"" + beside,
                new ArmPlan.Beside(sidecar, "main", false),
                "\"hold\":\"automatic\"" + beside,
                new ArmPlan.Beside(sidecar, "main", true),
                "\"arm-command\":\"\",\"arm-claims-hold\":\"\"",
                new ArmPlan.Commands(true),
                "\"arm-server-command\":\"\"",
                new ArmPlan.AnotherServer());
        for (Map.Entry<String, ArmPlan> arm : arms.entrySet()) {
            Files.writeString(
                    file,
                    olderHead(
                                    5,
                                    "\"url\":\"http://127.0.0.1:1\",\"prefix-tokens\":\"64\",\"suffix-tokens\":\"8\","
                                            + "\"flood-requests\":\"5\",\"flood-tokens\":\"40\",\"cycles\":\"3\","
                                            + "\"output-tokens\":\"4\"," + arm.getKey())
                            + "\n");
            LoadTestPlan test = Journal.read(file).header().test();
            assertThat(test.target().orElseThrow().arm()).isEqualTo(arm.getValue());
            assertThat(test.freshLegs())
                    .as("a server command needs a process for each leg")
                    .isEqualTo(arm.getValue() instanceof ArmPlan.AnotherServer);
        }
    }

    /** What a journal keeps of a plan is read back equal, whatever the arm. */
    @Test
    void plans_areReadBackEqual() {
        List<ArmPlan> arms = List.of(
                ArmPlan.none(),
                new ArmPlan.KeepWarm(3),
                new ArmPlan.Beside(URI.create("http://127.0.0.1:8471"), "main", true),
                new ArmPlan.Commands(true),
                new ArmPlan.AnotherServer());
        for (int i = 0; i < arms.size(); i++) {
            LoadTestPlan test = Legs.header().test().toBuilder()
                    .salt(new Salt(-7))
                    .mostTime(Duration.ofHours(8))
                    .alsoJudged(List.of(Statistic.PROBE_P95))
                    .target(new LoadTestPlan.Target(
                            URI.create("http://127.0.0.1:1"),
                            List.of(),
                            FloodShape.of(64, 8, 5, 40, 3),
                            "poisson:4",
                            arms.get(i),
                            Optional.of("/flush"),
                            Optional.of(Path.of("/a:b/ca.pem"))))
                    .build();
            Path its = folder.resolve(i + ".jsonl");
            Journal.create(its, Legs.header().with(test)).close();
            assertThat(Journal.read(its).header().test()).isEqualTo(test);
        }
    }

    /** Before there were looks a run was looked at once, and before there were batches nobody counted them. */
    @Test
    void linesWithoutLooksAndBatches_areRead() throws IOException {
        ServerLog log = new ServerLog(List.of(), 0, List.of(), 0);
        List<LegRecord> told =
                legs.stream().map(leg -> leg.withServerLog(Optional.of(log))).toList();
        write(told);
        List<String> lines = new ArrayList<>(Files.readAllLines(file));
        String id = JournalReader.id(lines.getFirst());
        lines.set(0, olderHead(5, "").replace(",\"looks\":[]", ""));
        assertThat(lines.getFirst()).doesNotContain("looks");
        String older = JournalReader.id(lines.getFirst());
        lines.replaceAll(line -> line.replace(id, older).replace(",\"prefills\":0,\"cachedTokens\":0", ""));
        assertThat(lines.get(1)).doesNotContain("prefills");
        Files.write(file, lines);
        assertThat(Journal.read(file).legs()).isEqualTo(told);
        assertThat(Journal.read(file).header().plan().looks()).isEmpty();
    }

    /** What the server wrote is unknown where a journal has no word for it, and floods came as they always did. */
    @Test
    void linesWithoutArrivalsAndServerLogs_areRead() throws IOException {
        ServerLog log = new ServerLog(List.of("ERROR one", "ERROR two"), 7, List.of(), 0);
        List<LegRecord> told =
                legs.stream().map(leg -> leg.withServerLog(Optional.of(log))).toList();
        write(told);
        assertThat(Journal.read(file).legs()).isEqualTo(told);
        Files.delete(file);
        write(legs);
        List<String> lines = new ArrayList<>(Files.readAllLines(file));
        String id = JournalReader.id(lines.getFirst());
        lines.set(0, olderHead(5, "").replace(",\"arrivals\":\"closed\"", ""));
        String older = JournalReader.id(lines.getFirst());
        assertThat(older).isNotEqualTo(id);
        lines.replaceAll(line -> line.replace(id, older).replace(",\"serverLog\":null", ""));
        assertThat(lines).noneMatch(line -> line.contains("arrivals") || line.contains("serverLog"));
        Files.write(file, lines);
        assertThat(Journal.read(file).legs()).isEqualTo(legs);
        assertThat(Journal.read(file).header().workload())
                .isEqualTo(Legs.header().workload());
    }

    @Test
    void linesWithoutDigestsOfAnswers_areRead() throws IOException {
        List<LegRecord> digested = legs.stream()
                .map(leg -> Legs.withRequests(leg, request -> request.withOutput("0011223344556677")))
                .toList();
        write(digested);
        assertThat(Journal.read(file).legs()).isEqualTo(digested);
        String text = Files.readString(file);
        assertThat(text).contains(",\"output\":\"0011223344556677\"");
        Files.writeString(file, text.replace(",\"output\":\"0011223344556677\"", ""));
        assertThat(Journal.read(file).legs()).isEqualTo(legs);
    }

    @Test
    void stampsAndTheClientsHealth_areReadBackEqual() {
        LegRecord leg = Legs.withRequests(
                        legs.getFirst(),
                        request -> new RequestRecord(
                                request.number(),
                                request.role(),
                                request.cycle(),
                                request.status(),
                                request.scheduled(),
                                request.sent(),
                                request.firstByte(),
                                request.firstToken(),
                                request.lastToken(),
                                request.done(),
                                request.promptTokens(),
                                request.completionTokens(),
                                request.cachedTokens(),
                                "",
                                OptionalInt.of(72),
                                request.firstToken(),
                                new TokenStamps("0 5012 4988*2")))
                .withClient(Optional.of(new ClientHealth(1, 2, 3, 4, 5, 6, -7)));
        write(List.of(leg));
        assertThat(Journal.read(file).legs()).containsExactly(leg);
    }

    @Test
    void otherFormat_isRefused() throws IOException {
        write(List.of());
        Files.writeString(file, Files.readString(file).replace("\"format\":6", "\"format\":3"));
        assertThatThrownBy(() -> Journal.read(file)).hasMessageContaining("has format 3");
    }

    @Test
    void fileThatIsNoJournal_isRefusedInOneSentence() throws IOException {
        assertThatThrownBy(() -> Journal.read(file)).hasMessage("There is no journal at " + file + ".");
        Files.createFile(file);
        assertThatThrownBy(() -> Journal.read(file)).hasMessageContaining("empty");
        Files.writeString(file, "hello\n", StandardOpenOption.APPEND);
        assertThatThrownBy(() -> Journal.read(file)).hasMessageStartingWith("Line 1 of the journal");
    }

    @Test
    void missingFolder_isRefusedInOneSentence() {
        assertThatThrownBy(() -> Journal.create(folder.resolve("no/such/run.jsonl"), Legs.header()))
                .isInstanceOf(LoadTestException.class)
                .hasMessageContaining("cannot be written");
    }

    @Test
    void journalThatNoRunWrote_isRefusedByLineWithWhatCanBeSaved() throws IOException {
        write(legs);
        List<String> lines = Files.readAllLines(file);
        refused(lines(lines, lines), 38, "is the first line again: the file was doubled", 37, 12);
        refused(
                lines.stream()
                        .flatMap(line -> Stream.of(line, line, line, line))
                        .toList(),
                2,
                "is the first line again",
                1,
                0);
        refused(
                lines(lines, List.of(lines.get(5))),
                38,
                "is life 2 BP, leg 1 (baseline) again, which stands in line 6",
                37,
                12);
        refused(lines(lines.subList(0, 6), lines.subList(5, 9)), 7, "is life 2 BP, leg 1 (baseline) again", 6, 1);
        refused(
                lines(lines.subList(0, 6), lines.subList(8, 20)),
                7,
                "but life 2 BP, leg 2 (pinned) is missing before it: lines were cut out",
                6,
                1);
        refused(
                lines(lines(lines.subList(0, 5), List.of(lines.get(6), lines.get(5))), lines.subList(7, 20)),
                6,
                "but life 2 BP, leg 1 (baseline), which comes only in line 7, was planned before it",
                5,
                1);
        refused(lines.subList(1, 20), 1, "is not the head of a run: the beginning was cut off", 0, 0);
        refused(
                lines(lines.subList(0, 3), List.of("{\"level\":\"INFO\"}")),
                4,
                "cannot be read (it is no line of a journal)",
                3,
                0);
    }

    @Test
    void journalsOfTwoRunsPutTogether_areRefusedByLine() throws IOException {
        write(legs);
        List<String> lines = Files.readAllLines(file);
        file = folder.resolve("other.jsonl");
        try (Journal journal = Journal.create(file, Legs.withoutHold(Legs.header()))) {
            legs.forEach(journal::append);
        }
        List<String> other = Files.readAllLines(file);
        refused(
                lines(lines.subList(0, 9), other.subList(9, 37)),
                10,
                "belongs to another run than the first line",
                9,
                2);
        refused(lines(lines.subList(0, 9), other), 10, "begins another run: two journals were put together", 9, 2);
        refused(lines(List.of(other.getFirst()), lines.subList(1, 37)), 2, "belongs to another run", 1, 0);
    }

    @Test
    void legOfAnotherOrder_isRefused() throws IOException {
        write(legs.subList(0, 4));
        List<String> lines = Files.readAllLines(file);
        refused(
                lines.stream()
                        .map(line -> line.replace("\"life\":2,\"order\":\"BP\"", "\"life\":2,\"order\":\"PB\""))
                        .toList(),
                5,
                "where the plan has life 2 BP, burn-in leg (baseline)",
                4,
                1);
        refused(
                lines.stream()
                        .map(line -> line.replace("\"life\":2,", "\"life\":99,"))
                        .toList(),
                5,
                "which is not in the plan",
                4,
                1);
    }

    @Test
    void voidedPair_isLeftOutAndRunAgain() {
        try (Journal journal = Journal.create(file, Legs.header())) {
            legs.subList(0, 5).forEach(journal::append);
            journal.voidPair(2, "stopped");
            journal.resumed(Instant.EPOCH);
            legs.subList(3, legs.size()).forEach(journal::append);
        }
        Journal.Contents contents = Journal.read(file);
        assertThat(contents.legs()).isEqualTo(legs);
        assertThat(contents.voided()).containsExactly(new VoidedPair(2, "stopped", 2));
        assertThat(contents.resumes()).isEqualTo(1);
        assertThat(Analysis.of(file).warnings())
                .contains("One pair was broken off and does not count, with 2 finished legs (stopped).");
    }

    /** By that the texts of a leg can be drawn again, also those of a run that was killed in the middle of a line. */
    @Test
    void repeatsBeforeALeg_areThoseThatCameBeforeIt() throws IOException {
        try (Journal journal = Journal.create(file, Legs.repeating(Legs.header(), 1))) {
            legs.subList(0, 5).forEach(journal::append);
            journal.repeatPair(2, "a call was late");
            legs.subList(6, 9).forEach(journal::append);
            journal.append(legs.get(3));
            journal.voidPair(2, "stopped");
            journal.resumed(Instant.EPOCH);
            legs.subList(3, 6).forEach(journal::append);
        }
        Files.writeString(file, "{\"leg\":{\"life\":4", StandardOpenOption.APPEND);
        assertThat(Journal.read(file).legs()).hasSize(9);
        assertThat(Journal.repeatsBefore(file, legs.get(2))).isZero();
        assertThat(Journal.repeatsBefore(file, legs.get(8))).isEqualTo(1);
        assertThat(Journal.repeatsBefore(file, legs.get(4))).isEqualTo(2);
    }

    @Test
    void voidingOfAFinishedPair_isRefused() throws IOException {
        try (Journal journal = Journal.create(file, Legs.header())) {
            legs.subList(0, 3).forEach(journal::append);
            journal.voidPair(1, "stopped");
        }
        refused(Files.readAllLines(file), 5, "voids the pair of life 1, which was not under way", 4, 1);
    }

    @Test
    void journalThatIsWrittenTo_isNotOpenedAgain() {
        try (Journal journal = Journal.create(file, Legs.header())) {
            journal.append(legs.getFirst());
            assertThat(Journal.isBeingWritten(file)).isTrue();
            assertThatThrownBy(() -> Journal.reopen(file))
                    .isInstanceOf(LoadTestException.class)
                    .hasMessageContaining("is being written by a load test that still runs");
        }
        assertThat(Journal.isBeingWritten(file)).isFalse();
        Journal.Reopened reopened = Journal.reopen(file);
        try (Journal journal = reopened.journal()) {
            assertThat(reopened.contents().legs()).isEqualTo(legs.subList(0, 1));
            journal.append(legs.get(1));
        }
        assertThat(Journal.read(file).legs()).isEqualTo(legs.subList(0, 2));
    }

    @Test
    void lastLineWithoutItsLineEnd_isGoneOnAfter() throws IOException {
        write(legs.subList(0, 2));
        String text = Files.readString(file);
        Files.writeString(file, text.substring(0, text.length() - 1));
        try (Journal journal = Journal.reopen(file).journal()) {
            journal.append(legs.get(2));
        }
        assertThat(Journal.read(file).legs()).isEqualTo(legs.subList(0, 3));
    }

    private static String olderHead(int format, String options) {
        return "{\"run\":{\"format\":" + format
                + ",\"startedAt\":\"2026-11-21T00:00:00Z\",\"client\":{\"java\":\"25\",\"model\":\"a"
                + " model\"},\"workload\":{\"id\":\"w\",\"name\":\"a flood\",\"seed\":1,\"prefixTokens\":64,"
                + "\"pressureTokens\":404,\"arrivals\":\"closed\"},\"plan\":{\"rounds\":[[\"AA\",\"BP\",\"PB\"],"
                + "[\"AA\",\"BP\",\"PB\"],[\"AA\",\"BP\",\"PB\"],[\"AA\",\"BP\",\"PB\"]],\"looks\":[]},\"seed\":42,"
                + "\"concurrency\":2,\"burnIn\":true,\"rehearsal\":false,\"statistic\":\"PROBE_P50\","
                + "\"criteria\":{\"delta\":0.04879016416943205,\"alpha\":0.05,\"minimumPerOrder\":4},\"slotMillis\":150,\"toleranceMillis\":50,\"unit\":\"a"
                + " unit\",\"freshLives\":true,\"holder\":\"a holder\","
                + "\"claimsHold\":true,\"engine\":{\"family\":\"SGLANG\",\"pageTokens\":4,\"capacityTokens\":300,"
                + "\"longestPrompt\":null,\"version\":null},"
                + (format == 4 ? "" : "\"repeatPairs\":0,\"slotAdapts\":false,")
                + "\"options\":{" + options + "}}}";
    }

    private static List<String> lines(List<String> first, List<String> then) {
        return Stream.concat(first.stream(), then.stream()).toList();
    }

    /** One sentence that names the line and says what is sound before it, which then can be read and resumed. */
    private void refused(List<String> lines, int number, String why, int sound, int pairs) throws IOException {
        Path refused = Files.write(folder.resolve("refused.jsonl"), lines);
        assertThatThrownBy(() -> Journal.read(refused))
                .isInstanceOf(LoadTestException.class)
                .message()
                .startsWith("Line " + number + " of the journal " + refused + " ")
                .contains(why)
                .contains(sound == 0 ? "nothing of the file can be saved" : "hold")
                .contains(sound == 0 ? "" : pairs + " of 12 pairs, and 'head -n " + sound + " ");
        byte[] before = Files.readAllBytes(refused);
        assertThatThrownBy(() -> Journal.reopen(refused)).hasMessageStartingWith("Line " + number);
        assertThat(Files.readAllBytes(refused)).isEqualTo(before);
        if (sound > 0) {
            Path saved = Files.write(folder.resolve("saved.jsonl"), lines.subList(0, sound));
            assertThat(Journal.read(saved).wholePairs()).isEqualTo(pairs);
        }
    }

    private void write(List<LegRecord> written) {
        try (Journal journal = Journal.create(file, Legs.header())) {
            written.forEach(journal::append);
        }
    }
}
