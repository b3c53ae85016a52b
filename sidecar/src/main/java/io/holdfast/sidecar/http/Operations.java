package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ReloadReport;
import java.util.List;
import java.util.Map;

/** Operations on the process as a whole. */
public interface Operations {
    /** Notes for the operator that are about no single engine. */
    List<String> notes();

    /** Engines of the configuration that are not followed at the moment, each with the reason. */
    Map<String, String> absent();

    /**
     * Reads the configuration anew and goes by it; blocks.
     *
     * @throws ApiError with one sentence, where nothing was changed
     */
    ReloadReport reload();
}
