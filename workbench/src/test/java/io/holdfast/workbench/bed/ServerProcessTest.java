package io.holdfast.workbench.bed;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServerProcessTest {
    private static final long OWN = ProcessHandle.current().pid();

    @TempDir
    private Path folder = Path.of("");

    @Test
    void portOfThisProcess_leadsToIt() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            URI server = URI.create("http://127.0.0.1:" + socket.getLocalPort());
            assertThat(ServerProcess.of(server)).contains(new ServerProcess(OWN));
            assertThat(ServerProcess.of(URI.create("http://192.0.2.1:" + socket.getLocalPort())))
                    .as("a server elsewhere")
                    .isEmpty();
        }
        assertThat(ServerProcess.listeningAt(1)).isEmpty();
    }

    @Test
    void livingProcess_tellsTimeAndMemory() {
        ServerProcess own = new ServerProcess(OWN);
        assertThat(own.family()).contains(OWN);
        assertThat(own.cpuSeconds().orElse(0.0)).isPositive();
        assertThat(own.residentMebibytes().orElse(0.0)).isGreaterThan(1);
        assertThat(own.variables()).isPresent();
        assertThat(new ServerProcess(Integer.MAX_VALUE).cpuSeconds()).isEmpty();
        assertThat(new ServerProcess(Integer.MAX_VALUE).variables()).isEmpty();
    }

    @Test
    void variablesOfAProcessThatNobodySees_areUnknownAndNotNone() {
        assertThat(EnvironmentRecord.of(new Gpus.None(), Optional.empty()).values())
                .containsEntry("CUDA_LAUNCH_BLOCKING", "unknown")
                .containsEntry("ENABLE_KVCACHED", "unknown");
    }

    /** Started as a virtual environment's Python is; what is set is seen, what is unset is really absent. */
    @Test
    void childProcess_tellsItsVariablesAndPackages() throws IOException {
        Path bin = Files.createDirectories(folder.resolve("venv/bin"));
        Path packages = Files.createDirectories(folder.resolve("venv/lib/python3.12/site-packages"));
        for (String name : new String[] {"torch-2.8.0", "kvcached-0.1.6", "other-1.0"}) {
            Files.createDirectories(packages.resolve(name + ".dist-info"));
        }
        Path program = Files.copy(Path.of("/bin/cat"), bin.resolve("python"), StandardCopyOption.COPY_ATTRIBUTES);
        ProcessBuilder builder = new ProcessBuilder(program.toString(), "-");
        builder.environment().put("ENABLE_KVCACHED", "true");
        builder.environment().put("KVCACHED_LOG_LEVEL", "DEBUG");
        builder.environment().put("SECRET_KEY", "not to be read");
        builder.environment().remove("KVCACHED_AUTOPATCH");
        Process child = builder.start();
        try {
            ServerProcess seen = new ServerProcess(child.pid());
            assertThat(seen.variables()).contains(Map.of("ENABLE_KVCACHED", "true", "KVCACHED_LOG_LEVEL", "DEBUG"));
            assertThat(seen.packages()).isEqualTo(Map.of("torch", "2.8.0", "kvcached", "0.1.6"));
            EnvironmentRecord record = EnvironmentRecord.of(new Gpus.None(), Optional.of(seen));
            assertThat(record.values())
                    .containsEntry("torch", "2.8.0")
                    .containsEntry("vllm", "unknown")
                    .containsEntry("ENABLE_KVCACHED", "true")
                    .containsEntry("KVCACHED_AUTOPATCH", "none");
        } finally {
            child.destroyForcibly();
        }
    }
}
