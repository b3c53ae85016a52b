package io.holdfast.sidecar.look;

import io.holdfast.core.backend.DryRunBackend;
import io.holdfast.core.look.Finding;
import io.holdfast.core.look.Finding.Status;
import java.util.List;

/**
 * An engine's capabilities for Holdfast.
 *
 * @param engine the engine in a few words
 * @param backend what the sidecar would hold with; {@value #UNKNOWN} where that cannot be told
 * @param why it would, or would hold nothing
 * @param configuration of a sidecar for this engine, YAML
 */
public record Diagnosis(String engine, List<Finding> findings, String backend, String why, String configuration) {
    static final String UNKNOWN = "unknown";

    public Diagnosis {
        findings = List.copyOf(findings);
    }

    /** Returns whether the sidecar would hold something. */
    public boolean holds() {
        return !backend.equals(DryRunBackend.NAME) && !backend.equals(UNKNOWN);
    }

    /** Returns true if something that matters is missing. */
    public boolean fails() {
        return has(Status.MISSING);
    }

    /** Returns true if something that matters is unknown. */
    public boolean inconclusive() {
        return has(Status.UNKNOWN);
    }

    private boolean has(Status status) {
        return findings.stream().anyMatch(finding -> finding.status() == status);
    }
}
