package io.holdfast.sidecar;

import java.util.List;

/** What the API offers about the process as a whole. */
interface Operations {
    /** What a person should know that is about no single engine. */
    List<String> notes();

    /**
     * Reads the configuration anew and goes by it; blocks.
     *
     * @throws ApiError with one sentence, where nothing was changed
     */
    ReloadReport reload();
}
