package io.holdfast.sidecar;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ReloadReport;
import io.holdfast.sidecar.http.Operations;
import java.util.List;
import java.util.Map;

/** For an API without a process around it. */
public final class NoOperations implements Operations {
    @Override
    public List<String> notes() {
        return List.of();
    }

    @Override
    public Map<String, String> absent() {
        return Map.of();
    }

    @Override
    public ReloadReport reload() {
        throw new ApiError(503, "There is nothing to reload.");
    }
}
