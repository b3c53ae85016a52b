package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.app.cli.ExitCode;
import io.holdfast.app.loadtest.ServerOptions;
import io.holdfast.loadtest.journal.Journal;
import io.holdfast.loadtest.journal.LoadTestPlan;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Servers that the load test starts and ends itself. */
class LoadtestServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void eachPair_hasAProcessOfItsOwn_andNoneIsLeft() throws IOException {
        String pids = folder.resolve("pids").toString();
        CommandRun told = aa(
                "echo $$ >> " + pids + "; " + QuickEngine.command() + " --prefill-us-per-token {prefill} & wait",
                "--server-set",
                "prefill=5",
                "--pairs",
                "2",
                "--json");
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        JsonNode document = JSON.readTree(told.out());
        assertThat(document.path("standingPairs").asInt()).isEqualTo(2);
        // The trial, the rehearsal, two pairs, and those that a busy machine spoiled.
        int processes = 4 + document.path("voidedPairs").asInt();
        List<String> started = Files.readAllLines(Path.of(pids));
        assertThat(started).hasSize(processes).doesNotHaveDuplicates();
        assertThat(started.stream().flatMap(pid -> ProcessHandle.of(Long.parseLong(pid)).stream()))
                .isEmpty();
        assertThat(lines("aa.jsonl.server.log").filter(line -> line.contains("\"engine\":\"sglang\"")))
                .hasSize(processes);
    }

    /** The second server has less memory, which between two legs of one arm would be another server. */
    @Test
    void pinnedLegsByAnotherCommand_haveProcessesOfTheirOwn() throws Exception {
        String started = folder.resolve("started").toString();
        CommandRun told;
        try (ShellEngines engines = new ShellEngines(folder)) {
            String server = "echo off >> " + started + "; " + engines.command("8192");
            String other = "echo on >> " + started + "; " + engines.command("{small}");
            told = servers(server, "--arm-server-command", other, "--server-set", "small=4096", "--json");
        }
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        JsonNode document = JSON.readTree(told.out());
        assertThat(JsonSchemas.complaints(document)).isEmpty();
        assertThat(document.path("serverProcesses").asInt()).isEqualTo(6);
        assertThat(document.path("claimsHold").asBoolean(true)).isFalse();
        assertThat(Journal.read(folder.resolve("run.jsonl")).header().legs())
                .as("a leg has its burn-in beside it")
                .hasSize(8);
        List<String> commands = Files.readAllLines(Path.of(started));
        // A pair that a busy machine spoiled ran again.
        int voided = document.path("voidedPairs").asInt();
        assertThat(commands.stream().filter("on"::equals)).hasSizeBetween(3, 3 + voided);
        assertThat(commands.stream().filter("off"::equals)).hasSizeBetween(6, 6 + 2 * voided);
        String[] resume = {"loadtest", "resume", folder.resolve("run.jsonl").toString()};
        List<String> lines = Files.readAllLines(folder.resolve("run.jsonl"));
        Files.write(folder.resolve("run.jsonl"), lines.subList(0, 3));
        assertThat(CommandRun.by(resume).badInput()).contains("write it again, by --arm-server-command COMMAND");
        assertThat(CommandRun.by("loadtest", "status", resume[2]).out())
                .contains("Go on with: holdfast loadtest resume", " --arm-server-command COMMAND");
    }

    @Test
    void anotherServer_isRefusedWhereItCannotBe() {
        assertThat(servers("true", "--arm-server-command", "true", "--restart-per", "run")
                        .badInput())
                .endsWith("each leg has a process of its own; leave --restart-per out.");
        assertThat(servers("true", "--arm-server-command", "true", "--hold", "session")
                        .badInput())
                .endsWith("leave --hold and --sidecar out.");
        assertThat(servers("true", "--arm-server-command", "serve {nosuch}").badInput())
                .contains("has {nosuch}, for which there is no value");
        assertThat(CommandRun.by("loadtest", "run", "--engine", "http://127.0.0.1:1", "--arm-server-command", "true")
                        .badInput())
                .endsWith("is for pinned legs alone; write --server-command for the others.");
    }

    private CommandRun servers(String command, String... more) {
        List<String> line =
                new ArrayList<>(List.of("loadtest", "run", "--engine", "http://127.0.0.1:" + FreePort.any()));
        line.addAll(List.of("--server-command", command, "--prefix-tokens", "96", "--flood-requests", "2"));
        line.addAll(List.of("--flood-tokens", "32", "--cycles", "1", "--rounds", "1", "--anyway"));
        line.addAll(List.of(
                "--repeat-pairs", "50", "--journal", folder.resolve("run.jsonl").toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    /** What the server writes comes through a pipe, and the arm's command has it write and waits until it stands in the log. */
    @Test
    void errorInTheServersLog_isInvalidAndQuoted() throws Exception {
        try (ShellEngines engines = new ShellEngines(folder)) {
            errorInTheLogOf(engines);
        }
    }

    private void errorInTheLogOf(ShellEngines engines) throws IOException {
        Path pipe = folder.resolve("pipe");
        Path legs = folder.resolve("legs");
        String says = "says() { echo \"$1\" > " + pipe + "; until grep -qF \"$1\" " + folder.resolve("log")
                + "; do sleep 0.01; done; }; ";
        String on = says + "echo >> " + legs + "; case $(wc -l < " + legs + ") in 1) ;; 2) says 'KV cache pool is"
                + " full. Retract requests. #retracted_reqs:"
                + " 1' ;; *) says 'Traceback (most recent"
                + " call last):'; says '  File x'; says"
                + " 'ValueError: pool memory leak' ;; esac";
        int port = FreePort.any();
        CommandRun told = CommandRun.by(
                "loadtest",
                "run",
                "--engine",
                "http://127.0.0.1:" + port,
                "--server-command",
                "mkfifo " + pipe + "; " + engines.begin("8192") + "; while :; do cat " + pipe + "; done",
                "--server-log",
                folder.resolve("log").toString(),
                "--restart",
                "run",
                "--arm-command",
                "on=" + on,
                "off=true",
                "--prefix-tokens",
                "96",
                "--flood-requests",
                "2",
                "--flood-tokens",
                "32",
                "--cycles",
                "1",
                "--rounds",
                "1",
                "--anyway",
                "--json",
                "--journal",
                folder.resolve("run.jsonl").toString());
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.CHECK_FAILED);
        JsonNode document = JSON.readTree(told.out());
        assertThat(JsonSchemas.complaints(document)).isEmpty();
        assertThat(document.path("verdict").path("name").asText()).isEqualTo("INVALID");
        assertThat(document.path("verdict").path("reason").asText())
                .contains(
                        "(pinned) the server's log tells of an error, in 2 lines: 'Traceback (most recent call last):'"
                                + " and, last, 'ValueError: pool memory leak'.");
        assertThat(document.path("warnings"))
                .extracting(JsonNode::asText)
                .anyMatch(warning -> warning.startsWith(
                                "The server put running requests back for lack of memory in 1 of")
                        && warning.endsWith(": 'KV cache pool is full. Retract requests. #retracted_reqs: 1'."));
        assertThat(document.path("legs")
                        .path(0)
                        .path("serverLog")
                        .path("errorLines")
                        .asInt(-1))
                .isZero();
    }

    /** Of what the server was started by a journal has the profiler and the restarts, and the rest is written again. */
    @Test
    void profiledRunWithAProcessForEachLeg_goesOnAsItBegan() throws Exception {
        try (ShellEngines engines = new ShellEngines(folder)) {
            goesOnAsItBegan("sh -c '" + engines.command("8192 {seed}") + "'");
        }
    }

    private void goesOnAsItBegan(String command) throws IOException {
        String[] asked = {"--server-set", "seed=7", "--restart-per", "leg", "--pairs", "1"};
        CommandRun told = aa(command, join(asked, "--server-wrapper", "nice -n 1"));
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        Path journal = folder.resolve("aa.jsonl");
        LoadTestPlan test = Journal.read(journal).header().test();
        assertThat(test.freshLegs()).isTrue();
        assertThat(test.profiler()).contains("nice -n 1");
        List<String> lines = Files.readAllLines(journal);
        Files.write(journal, lines.subList(0, 3));
        assertThat(CommandRun.by("loadtest", "status", journal.toString()).out())
                .contains(" --server-command COMMAND --server-wrapper 'nice -n 1' --restart-per leg");
        String[] resume = {"loadtest", "resume", journal.toString(), "--server-command", command};
        assertThat(CommandRun.by(join(resume, "--server-set", "seed=7")).badInput())
                .endsWith("write its --server-command again, with --restart-per leg.");
        assertThat(CommandRun.by(join(resume, "--server-set", "seed=7", "--restart-per", "leg"))
                        .badInput())
                .endsWith("under a profiler; write --server-wrapper 'nice -n 1' again, with its --server-command.");
        assertThat(CommandRun.by(join(
                                resume,
                                "--server-set",
                                "seed=7",
                                "--restart-per",
                                "leg",
                                "--server-wrapper",
                                "nice -n 1"))
                        .code())
                .isEqualTo(ExitCode.INCONCLUSIVE);
        assertThat(Journal.read(journal).legs()).hasSize(4);
    }

    @Test
    void runWithoutAProfiler_isNotResumedUnderOne() throws Exception {
        String command;
        try (ShellEngines engines = new ShellEngines(folder)) {
            command = engines.command("8192");
            assertThat(aa(command, "--restart-per", "run", "--pairs", "1").code())
                    .isEqualTo(ExitCode.INCONCLUSIVE);
        }
        Path journal = folder.resolve("aa.jsonl");
        Files.write(journal, Files.readAllLines(journal).subList(0, 3));
        assertThat(CommandRun.by(
                                "loadtest",
                                "resume",
                                journal.toString(),
                                "--server-command",
                                command,
                                "--restart-per",
                                "run",
                                "--server-wrapper",
                                "nice")
                        .badInput())
                .endsWith("legs under one are never judged; leave --server-wrapper out, or begin a run with it.");
    }

    /** What goes on has to be started as it was; what may be a secret is in no line that is printed. */
    @Test
    void whatIsWrittenAgain_hasAllThatTheServerWasStartedBy() {
        ServerOptions options = new ServerOptions();
        new CommandLine(new OptionsAlone(options))
                .parseArgs(
                        "--server-command",
                        "serve {a}",
                        "--server-set",
                        "a=it is",
                        "--server-env",
                        "HF_TOKEN=secret",
                        "--server-env",
                        "B=2",
                        "--server-unset",
                        "C",
                        "--server-log",
                        "log",
                        "--restart-per",
                        "run",
                        "--server-start-seconds",
                        "9");
        assertThat(options.again())
                .isEqualTo(" --server-command 'serve {a}' --server-set 'a=it is' --server-env B=2"
                        + " --server-env HF_TOKEN=VALUE --server-unset C --server-log log --restart-per run"
                        + " --server-start-seconds 9");
    }

    @Command
    private record OptionsAlone(@Mixin ServerOptions options) {}

    private static String[] join(String[] some, String... more) {
        return Stream.concat(Stream.of(some), Stream.of(more)).toArray(String[]::new);
    }

    @Test
    void serverThatEndsByItself_isToldWithWhatItSaidLast() {
        CommandRun told = aa("echo no GPU here; exit 3");
        assertThat(told.badInput())
                .contains("The server's command ended on its own with exit code 3 (no GPU here)")
                .contains("aa.jsonl.server.log has what it wrote");
    }

    @Test
    void serverThatNeverAnswers_isEnded() throws IOException {
        String pid = folder.resolve("pid").toString();
        CommandRun told = aa("echo $$ > " + pid + "; echo loading; sleep 1000", "--server-start-seconds", "1");
        assertThat(told.badInput()).contains("did not answer", "within 1 s (loading)");
        assertThat(ProcessHandle.of(
                        Long.parseLong(Files.readString(Path.of(pid)).strip())))
                .isEmpty();
    }

    @Test
    void somethingThatListensAlready_isNotTakenForTheServer() throws IOException {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            CommandRun told = run(other.getLocalPort(), "sleep 1000");
            assertThat(told.badInput()).contains("listens at http://127.0.0.1:" + other.getLocalPort() + " already");
        }
    }

    @Test
    void nameWithoutAValue_isNamed() {
        assertThat(aa("serve --memory {memory} --model ${HOME} --config '{\"a\": 1}'")
                        .badInput())
                .contains("has {memory}, for which there is no value; write --server-set memory=VALUE");
        assertThat(CommandRun.by("loadtest", "aa", "--engine", "http://127.0.0.1:1", "--restart-per", "run")
                        .badInput())
                .contains("are for a server that is started by --server-command");
    }

    private CommandRun aa(String command, String... more) {
        return run(FreePort.any(), command, more);
    }

    private CommandRun run(int port, String command, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest", "aa", "--engine", "http://127.0.0.1:" + port));
        line.addAll(List.of("--server-command", command));
        line.addAll(List.of("--prefix-tokens", "96", "--suffix-tokens", "8", "--flood-requests", "2"));
        line.addAll(List.of("--flood-tokens", "32", "--cycles", "1", "--output-tokens", "2"));
        line.addAll(List.of("--journal", folder.resolve("aa.jsonl").toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    private Stream<String> lines(String file) throws IOException {
        return Files.readAllLines(folder.resolve(file)).stream();
    }
}
