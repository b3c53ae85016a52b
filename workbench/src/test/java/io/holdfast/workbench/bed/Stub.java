package io.holdfast.workbench.bed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** Commands of a folder of their own, in place of those of the machine. */
record Stub(Path folder) {
    /** An executable of that name, a shell script. */
    Stub with(String name, String script) throws IOException {
        Path file = Files.writeString(folder.resolve(name), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return this;
    }

    MachineTools tools() {
        return new MachineTools(folder.toString());
    }

    /** Two GPUs, and what computes on them. */
    static String twoGpus(String processes) {
        return """
            case "$*" in
            *query-gpu*) printf '0, NVIDIA A100-SXM4-80GB, 550.54.15\\n1, NVIDIA A100-SXM4-80GB, 550.54.15\\n' ;;
            *compute-apps*) printf '%s' ;;
            *topo*) printf '\\tGPU0\\tGPU1\\tCPU Affinity\\nGPU0\\t X \\tNV12\\t0-31\\nGPU1\\tNV12\\t X \\t0-31\\n' ;;
            esac\
            """.formatted(processes);
    }
}
