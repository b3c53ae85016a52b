package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables of profilers by command, and the command lines of the page about them. */
class LoadtestProfileTest {
    private static final Path PAGE = Path.of("..", "docs", "workbench.md");
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```sh\\n(.*?)^```");

    /** What it was told, a line each; then the program behind its own options is left alone. */
    private static final String STUB = "#!/bin/sh\necho \"$(basename \"$0\") $*\" >> \"$(dirname \"$0\")/told\"\n";

    @TempDir
    private Path folder = Path.of("");

    private void stub(String name) throws IOException {
        Path file = Files.writeString(folder.resolve(name), STUB);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** All blocks of commands on the page, run by a shell whose programs are stubs. */
    private List<String> pageTold() throws IOException, InterruptedException {
        for (String name : List.of("nsys", "ncu", "holdfast", "python")) {
            stub(name);
        }
        StringBuilder script = new StringBuilder("set -eu\n");
        BLOCK.matcher(Files.readString(PAGE)).results().forEach(block -> script.append(block.group(1)));
        Path file = Files.writeString(folder.resolve("page.sh"), script);
        ProcessBuilder builder = new ProcessBuilder("/bin/sh", file.toString())
                .directory(folder.toFile())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("said").toFile());
        builder.environment().put("PATH", folder + ":" + System.getenv("PATH"));
        Process process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue())
                .as(Files.readString(folder.resolve("said")))
                .isZero();
        return Files.readAllLines(folder.resolve("told"));
    }

    @Test
    void commandsOfThePage_reachTheProfilersAsWritten() throws Exception {
        List<String> told = pageTold();
        assertThat(told)
                .contains(
                        "nsys profile -o trace python script.py",
                        "ncu --set full -o report python script.py",
                        "nsys profile --trace=cuda,nvtx,osrt,cudnn,cublas,cusparse --cuda-memory-usage=true"
                                + " --capture-range=cudaProfilerApi -o detailed_trace python script.py",
                        "ncu --set full --import-source yes --source-folder /path/to/source --kernel-regex .*"
                                + " --launch-count 50 -o full_report python script.py",
                        "ncu --kernel-regex .*attention.* -o attention python script.py",
                        "ncu --kernel-regex .*gemm.*|.*cublas.* -o gemm python script.py",
                        "ncu --set full --import-source yes --kernel-regex .*flash.*attention.*|.*decode.*attention.*"
                                + " --launch-count 20 --target-processes all -o ../results/ncu/attention_profile python"
                                + " scripts/attention_microbench.py");
        List<String> ours =
                told.stream().filter(line -> line.startsWith("holdfast ")).toList();
        assertThat(ours)
                .hasSizeGreaterThanOrEqualTo(3)
                .allSatisfy(line -> assertThat(line).containsPattern("^holdfast loadtest (run|profile|samples) "));
    }

    /** What our own commands on the page are asked for exists. */
    @Test
    void optionsOfThePage_areThoseOfTheCommands() throws IOException {
        List<String> missing = new ArrayList<>();
        BLOCK.matcher(Files.readString(PAGE)).results().forEach(block -> {
            String joined = block.group(1).replace("\\\n", " ");
            joined.lines().filter(line -> line.startsWith("holdfast loadtest ")).forEach(line -> {
                String help = CommandRun.by("loadtest", line.split(" ", -1)[2], "--help")
                        .out();
                Pattern.compile("(?<= )--[a-z-]+")
                        .matcher(line.replaceAll("'[^']*'", ""))
                        .results()
                        .filter(option -> !help.contains(option.group()))
                        .forEach(option -> missing.add(line + ": " + option.group()));
            });
        });
        assertThat(missing).isEmpty();
    }

    @Test
    void exportedTable_isATreeAndTwoColumns() throws IOException {
        Path table = Files.writeString(folder.resolve("ncu.csv"), """
            "ID","Kernel Name","Metric Name","Metric Unit","Metric Value"
            "0","flash_prefill","DRAM Throughput","%","72"
            "1","flash_decode","DRAM Throughput","%","82"
            """);
        assertThat(CommandRun.by("loadtest", "profile", table.toString()).out())
                .contains("├─ flash_prefill", "HBM [%]", "memory-bound (HBM > 50 %)", "not measured");
        String[] both = {"loadtest", "profile", table.toString(), "--first", "prefill", "--second", "decode"};
        assertThat(CommandRun.by(both).out()).containsPattern("HBM \\[%] +72 +82 +\\+10.0 points");
        JsonNode document = new ObjectMapper()
                .readTree(CommandRun.by("loadtest", "profile", table.toString(), "--json")
                        .out());
        assertThat(document.path("tables")
                        .path(0)
                        .path("kernels")
                        .path(0)
                        .path("memoryBound")
                        .asBoolean())
                .isTrue();
        assertThat(document.toString()).doesNotContain("SM [%]").doesNotContain("null");
    }

    @Test
    void badInput_isOneSentence() throws IOException {
        Path none = Files.writeString(folder.resolve("none.csv"), "no table\n");
        assertThat(CommandRun.by("loadtest", "profile", none.toString()).badInput())
                .contains("has no table of nsys or ncu");
        assertThat(CommandRun.by("loadtest", "profile", none.toString(), "--first", "a")
                        .badInput())
                .contains("--first and --second are written together");
    }
}
