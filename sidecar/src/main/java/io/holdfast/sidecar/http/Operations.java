package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ReloadReport;
import java.util.List;
import java.util.Map;

/** What the API offers about the process as a whole. */
public interface Operations {
    /** What a person should know that is about no single engine. */
    List<String> notes();

    /** Which engines of the configuration are not looked after at the moment, and why. */
    Map<String, String> absent();

    /**
     * Reads the configuration anew and goes by it; blocks.
     *
     * @throws ApiError with one sentence, where nothing was changed
     */
    ReloadReport reload();
}
