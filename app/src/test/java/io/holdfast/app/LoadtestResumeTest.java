package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LegRecord;
import io.holdfast.loadtest.journal.PlannedLeg;
import io.holdfast.loadtest.journal.VoidedPair;
import io.holdfast.rules.sglang.SglangSettings;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.api.ListAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Load tests in processes of their own that are ended by a signal, and resumed. */
class LoadtestResumeTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final int PAIRS = 6;

    private final Vertx vertx = Vertx.vertx();

    @TempDir
    private Path folder = Path.of("");

    @AfterEach
    void stop() {
        vertx.close().await();
    }

    /** One run with both: what a signal ended is resumed, and what a kill then ended as well. */
    @Test
    void runStoppedByCtrlCAndThenKilled_tellsHowToGoOnAndIsResumed() throws Exception {
        String[] resume = {"loadtest", "resume", journal().toString()};
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            try (Child child = Child.start(run(emulator, "--hold", "session"))) {
                awaitLine(child, "life 1/3, leg 1");
                assertThat(status()).contains("RUNNING");
                CommandRun told = child.stop("INT");
                assertThat(told.code()).isEqualTo(ExitCode.STOPPED);
                assertThat(told.err()).isEmpty();
                assertThat(told.out())
                        .contains("PARTIAL, STOPPED: ", " of 3 pairs, and " + (1 + repeated()) + " broken off")
                        .endsWith("Go on with: holdfast loadtest resume " + journal() + System.lineSeparator());
                assertThat(status()).isEqualTo(told.out().substring(told.out().indexOf("PARTIAL")));
            }
            try (Child child = Child.start(resume)) {
                awaitLine(child, "life 1/3, leg 1");
                assertThat(child.stop("KILL").out()).doesNotContain("PARTIAL");
            }
            // What a kill within a line leaves.
            Files.writeString(journal(), "{\"leg\":{\"life\":", StandardOpenOption.APPEND);
            assertThat(status()).contains("PARTIAL, KILLED: ", "is torn and was left out", "Go on with: ");
            CommandRun resumed = CommandRun.by(join(resume, "--json"));
            assertThat(resumed.code()).as(resumed.toString()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertThat(JSON.readTree(resumed.out()).path("voidedPairs").asInt()).isEqualTo(2 + repeated());
            assertPlanned();
            assertThat(status()).startsWith("FINISHED: 100 %, 3 of 3 pairs");
        }
    }

    @Test
    void runWithCommands_isResumedWithThemAlone() throws IOException {
        String[] commands = {"--arm-command", "on=true", "off=true"};
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            assertThat(CommandRun.by(run(emulator, commands)).code()).isEqualTo(ExitCode.INCONCLUSIVE);
            cut();
            assertThat(status())
                    .contains("Go on with: holdfast loadtest resume", " --arm-command on=COMMAND off=COMMAND");
            assertThat(CommandRun.by("loadtest", "resume", journal().toString()).badInput())
                    .endsWith("write them again, by --arm-command on=COMMAND off=COMMAND.");
            String[] resume = {"loadtest", "resume", journal().toString()};
            assertThat(CommandRun.by(join(resume, "--arm-command", "on=true", "off=false || true"))
                            .badInput())
                    .contains("The pinned legs would do something else than in the journal");
            assertThat(CommandRun.by(join(resume, commands)).code()).isEqualTo(ExitCode.INCONCLUSIVE);
            assertPlanned();
            List<String> lines = Files.readAllLines(journal());
            assertThat(lines)
                    .anyMatch(line -> line.startsWith("{\"voided\""))
                    .anyMatch(line -> line.startsWith("{\"resumed\""));
            assertThat(JsonSchemas.complaintsOfLines(JsonSchemas.JOURNAL, lines))
                    .isEmpty();
        }
    }

    /** What is in a header is for the server alone; how answers end is in the journal. */
    @Test
    void headers_areNamedInTheJournalAndWrittenAgain() throws IOException {
        String[] secret = {"--header", "X-Team: team-secret", "--no-ignore-eos"};
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun told = CommandRun.by(join(aa(emulator), secret));
            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            List<String> lines = cut();
            assertThat(lines.getFirst()).contains("\"headers\":\"x-team\"", "\"answersEnd\":\"by the model\"");
            assertThat(told.out() + told.err() + lines).doesNotContain("team-secret");
            assertThat(status()).contains("Go on with: ", " --header 'x-team: VALUE'");
            String[] resume = {"loadtest", "resume", journal().toString()};
            assertThat(CommandRun.by(resume).badInput())
                    .isEqualTo("holdfast: The run sent the header x-team, and what was in it is in no journal; write it"
                            + " again, by --header 'NAME: VALUE'.");
            assertThat(CommandRun.by(join(resume, "--header", "X-Team: a", "--header", "X-More: b"))
                            .badInput())
                    .contains("The server is asked otherwise than in the journal", "headers=x-more, x-team");
            assertThat(CommandRun.by(join(resume, "--header", "X-TEAM: other")).code())
                    .isEqualTo(ExitCode.OK);
            assertPlanned();
        }
    }

    @Test
    void controlsAtTimesOfTheirOwn_areResumedWithTheirFigures() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS)) {
            CommandRun first = CommandRun.by(join(aa(emulator), "--arrivals", "poisson:200"));
            assertThat(first.code()).as(first.toString()).isEqualTo(ExitCode.OK);
            assertThat(first.out())
                    .contains("The requests of a flood come by poisson:200, whether or not", "from when its turn came");
            assertThat(cut().getFirst()).contains("\"arrivals\":\"poisson:200\"");
            CommandRun told = CommandRun.by("loadtest", "resume", journal().toString(), "--json");
            assertThat(told.code()).as(told.toString()).isEqualTo(ExitCode.OK);
            assertThat(JSON.readTree(told.out()).path("standingPairs").asInt()).isEqualTo(PAIRS);
            assertThat(JSON.readTree(told.out()).path("voidedPairs").asInt()).isEqualTo(1 + repeated());
            assertPlanned();
        }
    }

    @Test
    void serverOfAnotherSize_isRefused() throws IOException {
        try (Emulator emulator = Emulator.start(vertx, QuickEngine.SESSIONS);
                Emulator other = Emulator.start(
                        vertx,
                        QuickEngine.SESSIONS.withKind(new EmulatorSettings.Kind.Sglang(
                                SglangSettings.defaults()
                                        .withSizes(4_096, 16, 1_024)
                                        .withSessions(true),
                                false)))) {
            assertThat(CommandRun.by(aa(emulator)).code()).isEqualTo(ExitCode.OK);
            assertThat(CommandRun.by("loadtest", "resume", journal().toString()).badInput())
                    .startsWith("holdfast: The run is finished, with " + PAIRS + " of " + PAIRS + " pairs");
            cut();
            List<String> left = Files.readAllLines(journal());
            String url = other.uri().toString();
            CommandRun told = CommandRun.by("loadtest", "resume", journal().toString(), "--engine", url);
            assertThat(told.code()).isEqualTo(ExitCode.BAD_INPUT);
            assertThat(told.err())
                    .contains(
                            "The server is another one than that of the journal: it has sglang",
                            "4096 tokens of cache");
            assertThat(Files.readAllLines(journal())).isEqualTo(left);
        }
    }

    /** Pairs that a busy machine spoiled, which run again at the end of their round. */
    private int repeated() {
        return (int) Journal.read(journal()).voided().stream()
                .filter(VoidedPair::bySurroundings)
                .count();
    }

    private void assertPlanned() {
        Journal.Contents run = Journal.read(journal());
        List<String> planned =
                run.header().legs().stream().map(PlannedLeg::label).toList();
        ListAssert<String> legs =
                assertThat(run.legs().stream().map(LegRecord::label).toList());
        if (repeated() == 0) {
            legs.containsExactlyElementsOf(planned);
        } else {
            legs.containsExactlyInAnyOrderElementsOf(planned);
        }
        for (int position = 0; position < 3; position++) {
            int its = position;
            assertThat(run.legs().stream()
                            .filter(leg -> leg.position() == its)
                            .map(LegRecord::bodies)
                            .distinct())
                    .as("what legs at place %d ask for", position)
                    .hasSizeLessThanOrEqualTo(1);
        }
    }

    private String status() {
        CommandRun told = CommandRun.by("loadtest", "status", journal().toString());
        assertThat(told.code()).isEqualTo(ExitCode.OK);
        return told.out();
    }

    private static void awaitLine(Child child, String begin) throws IOException {
        while (!child.line().startsWith(begin)) {
            // What comes before it is of no interest.
        }
    }

    /** Leaves of a finished run what one that was killed in a pair would have left, and returns all that it was. */
    private List<String> cut() throws IOException {
        List<String> lines = Files.readAllLines(journal());
        Files.write(journal(), lines.subList(0, 6));
        return lines;
    }

    private Path journal() {
        return folder.resolve("run.jsonl");
    }

    /** A/A pairs, which have nothing to hold and so no slot to wait for. */
    private String[] aa(Emulator emulator) {
        List<String> args = new ArrayList<>(
                List.of("loadtest", "aa", "--engine", emulator.uri().toString()));
        args.addAll(List.of("--journal", journal().toString(), "--prefix-tokens", "96", "--flood-requests", "2"));
        args.addAll(List.of("--flood-tokens", "32", "--cycles", "1", "--output-tokens", "2"));
        args.addAll(List.of("--pairs", Integer.toString(PAIRS)));
        return args.toArray(String[]::new);
    }

    private String[] run(Emulator emulator, String... options) {
        List<String> args = new ArrayList<>(
                List.of("loadtest", "run", "--engine", emulator.uri().toString()));
        args.addAll(List.of("--journal", journal().toString(), "--prefix-tokens", "256", "--suffix-tokens", "32"));
        args.addAll(List.of("--flood-requests", "8", "--flood-tokens", "320", "--cycles", "1"));
        // The slot is the one that adapts: however slow the machine is, the arm's call fits.
        args.addAll(List.of("--rounds", "1", "--anyway", "--repeat-pairs", "50"));
        args.addAll(List.of(options));
        return args.toArray(String[]::new);
    }

    private static String[] join(String[] first, String... then) {
        List<String> args = new ArrayList<>(List.of(first));
        args.addAll(List.of(then));
        return args.toArray(String[]::new);
    }
}
