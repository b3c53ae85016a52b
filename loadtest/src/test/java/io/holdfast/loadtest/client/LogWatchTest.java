package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.loadtest.journal.ServerLog;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class LogWatchTest {
    private static final ServerLog NOTHING = new ServerLog(List.of(), 0, List.of(), 0);

    @TempDir
    private Path folder = Path.of("");

    /** As engines and shells write them. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "ERROR 11-23 20:00:00 [core.py:710] EngineCore encountered a fatal error.",
                "(EngineCore_DP0 pid=7) ERROR 11-23 20:00:00 [core.py:710] ValueError: no",
                "ERROR:    Exception in ASGI application",
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
                "[2026-11-23 20:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
                "Killed",
                "serve.sh: line 3:  4711 Killed                  python -m sglang.launch_server",
                "Segmentation fault (core dumped)",
                "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
            })
    void errors_areTold(String line) throws IOException {
        LogWatch watch = new LogWatch(write(line + "\n"));
        assertThat(watch.since()).isEqualTo(new ServerLog(List.of(line), 1, List.of(), 0));
        assertThat(watch.since()).isEqualTo(NOTHING);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "[2026-11-23 20:00:00] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio:"
                        + " 0.1",
                "WARNING scheduler.py:1057] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode"
            })
    void requestsThatArePutBack_areNoErrors(String line) throws IOException {
        assertThat(new LogWatch(write(line + "\n")).since()).isEqualTo(new ServerLog(List.of(), 0, List.of(line), 1));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INFO:     127.0.0.1:5 - \"POST /generate HTTP/1.1\" 200 OK",
                "INFO 11-23 20:00:00 [loggers.py:1] Running: 1 reqs, Waiting: 0 reqs, Preemptions: 0",
                "errors are none, nobody was killed",
                "  File \"x.py\", line 1, in f"
            })
    void allElse_isOfNoConcern(String line) throws IOException {
        assertThat(new LogWatch(write(line + "\n")).since()).isEqualTo(NOTHING);
    }

    @Test
    void exception_isQuotedWithWhatItWas() throws IOException {
        LogWatch watch = new LogWatch(write("""
            Scheduler hit an exception: Traceback (most recent call last):
              File "a.py", line 3, in run
                step()

            ValueError: pool memory leak
            serving
            """));
        ServerLog told = watch.since();
        assertThat(told.errorLines()).isEqualTo(2);
        assertThat(told.errors())
                .containsExactly(
                        "Scheduler hit an exception: Traceback (most recent call last):",
                        "ValueError: pool memory leak");
    }

    /** A line is told once, when it is whole; a file that was begun anew is read from its beginning. */
    @Test
    void lines_areToldOnceAndWhole() throws IOException {
        Path log = folder.resolve("server.log");
        LogWatch watch = new LogWatch(log);
        assertThat(watch.since()).as("before there is a file").isEqualTo(NOTHING);
        write("before\nKil");
        assertThat(watch.since()).isEqualTo(NOTHING);
        write("led\nERROR one\nERROR two\nERR");
        assertThat(watch.since()).isEqualTo(new ServerLog(List.of("Killed", "ERROR two"), 3, List.of(), 0));
        Files.writeString(log, "");
        assertThat(watch.since()).isEqualTo(NOTHING);
        write("ERROR anew\n");
        assertThat(watch.since().errors()).containsExactly("ERROR anew");
    }

    @Test
    void muchThatIsWritten_isQuotedInFew() throws IOException {
        String line = "ERROR " + "x".repeat(100_000) + "\n";
        ServerLog told = new LogWatch(write(line.repeat(50))).since();
        assertThat(told.errorLines()).isEqualTo(50);
        assertThat(told.errors()).hasSize(2).allMatch(quoted -> quoted.length() == 303 && quoted.endsWith("x..."));
    }

    private Path write(String text) throws IOException {
        return Files.writeString(
                folder.resolve("server.log"), text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    /** As three versions of SGLang order them, with and without a rank before. */
    @Test
    void batchesOfPrompts_areCountedWithWhatWasCached() throws IOException {
        LogWatch watch = new LogWatch(write("""
            [2024-11-02 10:00:00] Prefill batch. #new-seq: 2, #new-token: 60, #cached-token: 496, cache hit rate: 0.9
            [2025-06-02 10:00:00 TP0] Prefill batch. #new-seq: 1, #new-token: 448, #cached-token: 0, token usage: 0.1
            [2026-11-23 10:00:00] Prefill batch, #cached-token:248, #new-seq: 1, #new-token: 200, token usage: 0.08
            [2026-11-23 10:00:01] Decode batch, #running-req: 3, #token: 812, token usage: 0.10
            """));
        ServerLog told = watch.since();
        assertThat(told.prefills()).isEqualTo(3);
        assertThat(told.cachedTokens()).isEqualTo(744);
        assertThat(watch.since()).isEqualTo(NOTHING);
    }

    @Test
    void batchesBeforeTheLoad_areNotThoseOfTheLoad() throws IOException {
        Path log = write("Prefill batch, #cached-token: 240\nTraceback (most recent call last):\nValueError: no\n");
        LogWatch watch = new LogWatch(log);
        ServerLog warmUps = watch.since();
        Files.writeString(
                log, "Prefill batch, #cached-token: 16\nPrefill batch, #cached-token: 8\n", StandardOpenOption.APPEND);
        ServerLog leg = warmUps.thenOfTheLoad(watch.since());
        assertThat(leg.prefills()).isEqualTo(2);
        assertThat(leg.cachedTokens()).isEqualTo(24);
        assertThat(leg.errorLines()).as("an error at any time is one").isEqualTo(warmUps.errorLines());
    }
}
