package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatObject;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GpusTest {
    @TempDir
    private Path folder = Path.of("");

    @Test
    void twoGpus_areNamedWithDriverAndProcesses() throws IOException {
        Stub stub = new Stub(folder).with("nvidia-smi", Stub.twoGpus("4711, python3, 812 MiB\\n"));
        Gpus.Present present = (Gpus.Present) Gpus.of(stub.tools());
        assertThat(present.gpus()).extracting(Gpus.Gpu::driver).containsExactly("550.54.15", "550.54.15");
        assertThat(EnvironmentRecord.gpuNames(present)).isEqualTo("2 x NVIDIA A100-SXM4-80GB");
        assertThat(present.foreign(Set.of()).getFirst().text()).isEqualTo("python3, process 4711, 812 MiB");
        assertThat(present.foreign(Set.of(4711L))).isEmpty();
        assertThat(present.links().map(Gpus.Links::text)).contains("NVLink 0-1");
    }

    @Test
    void noTool_isNoGpuAndNoError() {
        assertThatObject(Gpus.of(new Stub(folder).tools())).isEqualTo(new Gpus.None());
        EnvironmentRecord record = EnvironmentRecord.of(new Gpus.None(), Optional.empty());
        assertThat(record.values()).containsEntry("gpu", "unknown").containsEntry("driver", "unknown");
        assertThat(record.unknown()).contains("gpu", "driver", "torch").doesNotContain("java", "cores");
    }

    @Test
    void brokenDriver_isUnknownWithItsReason() throws IOException {
        Stub stub = new Stub(folder).with("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9");
        assertThatObject(Gpus.of(stub.tools())).isEqualTo(new Gpus.Unknown("NVIDIA-SMI has failed"));
    }

    @Test
    void topologyOfSeven_isThreePairsAndOneAlone() {
        String matrix = """
            \t\u001b[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tCPU Affinity\tNUMA Affinity\u001b[0m
            GPU0\t X \tNV12\tSYS\tSYS\tSYS\tSYS\tSYS\t0-31\t0
            GPU1\tNV12\t X \tSYS\tSYS\tSYS\tSYS\tSYS\t0-31\t0
            GPU2\tSYS\tSYS\t X \tNV12\tSYS\tSYS\tSYS\t0-31\t0
            GPU3\tSYS\tSYS\tNV12\t X \tSYS\tSYS\tSYS\t0-31\t0
            GPU4\tSYS\tSYS\tSYS\tSYS\t X \tPXB\tPXB\t32-63\t1
            GPU5\tSYS\tSYS\tSYS\tSYS\tPXB\t X \tNV12\t32-63\t1
            GPU6\tSYS\tSYS\tSYS\tSYS\tPXB\tNV12\t X \t32-63\t1

            Legend:

              X    = Self
              NV#  = Connection traversing a bonded set of # NVLinks
            """;
        Gpus.Links links = Gpus.Links.of(matrix).orElseThrow();
        assertThat(links.groups()).isEqualTo(List.of(Set.of(0, 1), Set.of(2, 3), Set.of(5, 6)));
        assertThat(links.alone()).containsExactly(4);
        assertThat(links.text()).isEqualTo("NVLink 0-1, 2-3, 5-6; without: 4");
        assertThat(Gpus.Links.of("No devices were found")).isEmpty();
    }

    @Test
    void recordOfAGpu_hasWhatItIsAndWhatItRunsOn(@TempDir Path folder) throws IOException {
        String told = """
            #!/bin/sh
            case "$*" in
              *compute_cap*) [ -e "$0.old" ] && exit 2; echo '0, NVIDIA H100 80GB HBM3, 550.54.15, 81559 MiB, 9.0' ;;
              *query-gpu*) echo '0, NVIDIA H100 80GB HBM3, 550.54.15, 81559 MiB' ;;
              '') echo '| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4     |' ;;
            esac
            """;
        Path tool = Files.writeString(folder.resolve("nvidia-smi"), told);
        assertThat(tool.toFile().setExecutable(true)).isTrue();
        URI nobody = URI.create("http://127.0.0.1:1");

        EnvironmentRecord record = EnvironmentRecord.of(new MachineTools(folder.toString()), nobody);

        assertThat(record.values())
                .containsEntry("gpu", "1 x NVIDIA H100 80GB HBM3")
                .containsEntry("driver", "550.54.15")
                .containsEntry("cuda", "12.4")
                .containsEntry("gpuDetails", "NVIDIA H100 80GB HBM3, 81559 MiB, compute capability 9.0, 132 SMs");

        Files.createFile(folder.resolve("nvidia-smi.old"));
        assertThat(EnvironmentRecord.of(new MachineTools(folder.toString()), nobody)
                        .values())
                .as("a tool that knows no compute capability")
                .containsEntry("gpuDetails", "NVIDIA H100 80GB HBM3, 81559 MiB, 132 SMs");
    }
}
