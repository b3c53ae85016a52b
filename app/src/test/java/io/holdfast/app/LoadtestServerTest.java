package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.holdfast.loadtest.journal.Journal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers that the load test starts and ends itself. */
class LoadtestServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void eachPair_hasAProcessOfItsOwn_andNoneIsLeft() throws IOException {
        String pids = folder.resolve("pids").toString();
        CommandRun told = aa(
                "echo $$ >> " + pids + "; " + emulator() + " --port {port} --prefill-us-per-token {prefill} & wait",
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
    void pinnedLegsByAnotherCommand_haveProcessesOfTheirOwn() throws IOException {
        String started = folder.resolve("started").toString();
        String server = "echo off >> " + started + "; " + emulator() + " --port {port} --capacity-tokens 8192 & wait";
        String other = "echo on >> " + started + "; " + emulator() + " --port {port} --capacity-tokens {small} & wait";
        CommandRun told = servers(server, "--arm-server-command", other, "--server-set", "small=4096", "--json");
        assertThat(told.code()).as(told.err()).isEqualTo(ExitCode.INCONCLUSIVE);
        JsonNode document = JSON.readTree(told.out());
        assertThat(ResultSchema.complaints(document)).isEmpty();
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
        assertThat(servers("true", "--arm-server-command", "true", "--restart", "run")
                        .badInput())
                .endsWith("each leg has a process of its own; leave --restart out.");
        assertThat(servers("true", "--arm-server-command", "true", "--hold", "session")
                        .badInput())
                .endsWith("leave --hold and --sidecar out.");
        assertThat(servers("true", "--arm-server-command", "serve {nosuch}").badInput())
                .contains("has {nosuch}, for which there is no value");
        assertThat(CommandRun.by("loadtest", "run", "--url", "http://127.0.0.1:1", "--arm-server-command", "true")
                        .badInput())
                .endsWith("is for pinned legs alone; write --server-command for the others.");
    }

    private CommandRun servers(String command, String... more) {
        List<String> line = new ArrayList<>(List.of("loadtest", "run", "--url", "http://127.0.0.1:" + freePort()));
        line.addAll(List.of("--server-command", command, "--prefix-tokens", "96", "--flood-requests", "2"));
        line.addAll(List.of("--flood-tokens", "32", "--cycles", "1", "--rounds", "1", "--anyway"));
        line.addAll(List.of(
                "--repeat-pairs", "50", "--journal", folder.resolve("run.jsonl").toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    /** What the server writes comes through a pipe, and the arm's command has it write and waits until it stands in the log. */
    @Test
    void errorInTheServersLog_isInvalidAndQuoted() throws IOException {
        Path pipe = folder.resolve("pipe");
        Path legs = folder.resolve("legs");
        String says = "says() { echo \"$1\" > " + pipe + "; until grep -qF \"$1\" " + folder.resolve("log")
                + "; do sleep 0.01; done; }; ";
        String on = says + "echo >> " + legs + "; case $(wc -l < " + legs + ") in 1) ;; 2) says 'KV cache pool is"
                + " full. Retract requests. #retracted_reqs:"
                + " 1' ;; *) says 'Traceback (most recent"
                + " call last):'; says '  File x'; says"
                + " 'ValueError: pool memory leak' ;; esac";
        int port = freePort();
        CommandRun told = CommandRun.by(
                "loadtest",
                "run",
                "--url",
                "http://127.0.0.1:" + port,
                "--server-command",
                "mkfifo " + pipe + "; " + emulator() + " --port {port} & while :; do cat " + pipe + "; done",
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
        assertThat(ResultSchema.complaints(document)).isEmpty();
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

    @Test
    void serverThatEndsByItself_isToldWithWhatItSaidLast() {
        CommandRun told = aa("echo no GPU here; exit 3");
        assertThat(told.badInput())
                .contains("The server's command ended by itself with exit code 3 (no GPU here)")
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
        assertThat(CommandRun.by("loadtest", "aa", "--url", "http://127.0.0.1:1", "--restart", "run")
                        .badInput())
                .contains("are for a server that is started by --server-command");
    }

    private CommandRun aa(String command, String... more) {
        return run(freePort(), command, more);
    }

    private static int freePort() {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return free.getLocalPort();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private CommandRun run(int port, String command, String... more) {
        List<String> line = new ArrayList<>(List.of(
                "loadtest",
                "aa",
                "--url",
                "http://127.0.0.1:" + port,
                "--server-command",
                command,
                "--prefix-tokens",
                "96",
                "--suffix-tokens",
                "8",
                "--flood-requests",
                "2",
                "--flood-tokens",
                "32",
                "--cycles",
                "1",
                "--output-tokens",
                "2",
                "--journal",
                folder.resolve("aa.jsonl").toString()));
        line.addAll(List.of(more));
        return CommandRun.by(line.toArray(String[]::new));
    }

    /** As a command line of the shell. */
    private static String emulator() {
        return String.join(
                " ",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m -Dmsgpack.universal-buffer=true -cp",
                "'" + System.getProperty("java.class.path") + "'",
                Holdfast.class.getName(),
                "emulate --events 0 --first-token-ms 1 --decode-ms 1");
    }

    private Stream<String> lines(String file) throws IOException {
        return Files.readAllLines(folder.resolve(file)).stream();
    }
}
