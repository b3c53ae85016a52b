package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessFamilyTest {
    @TempDir
    private Path proc = Path.of("");

    @Test
    void processThatHasEnded_andIsListedStill_doesNotRun() throws IOException {
        Files.writeString(proc.resolve("uptime"), "1 1");
        process(7, "7 (sh) Z 1 7 7 0 -1");
        process(8, "8 (a ) R 1 7) X 1 7 7 0 -1");
        process(9, "9 (of another) S 1 9 9 0 -1");
        Files.createDirectory(proc.resolve("10"));
        process(12, "");
        assertThat(ProcessFamily.anyRuns(proc, 7)).isFalse();

        process(11, "11 (python3 -m) S 1 7 7 0 -1");
        assertThat(ProcessFamily.anyRuns(proc, 7)).isTrue();
    }

    @Test
    void childrenThatOutliveTheirParent_belongToIt() throws IOException {
        List<String> line = new ArrayList<>();
        ProcessFamily.setsid().ifPresent(path -> line.add(path.toString()));
        line.addAll(List.of("/bin/sh", "-c", "sleep 1000 & echo; read stop"));
        Process first = new ProcessBuilder(line).start();
        assertThat(first.getInputStream().read()).isEqualTo('\n');
        ProcessFamily family = new ProcessFamily(first);
        first.getOutputStream().close();
        first.onExit().join();
        assertThat(family.isAlive()).isTrue();

        family.tell("KILL");
        while (family.isAlive()) {
            Thread.onSpinWait();
        }
    }

    private void process(int pid, String stat) throws IOException {
        Files.writeString(
                Files.createDirectory(proc.resolve(Integer.toString(pid))).resolve("stat"), stat);
    }
}
