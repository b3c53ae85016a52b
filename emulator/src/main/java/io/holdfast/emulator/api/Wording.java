package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;
import java.util.List;

/** How an engine words what is wrong with a request. */
interface Wording {
    JsonObject invalid(Call call, List<Complaint> complaints);

    /** A request that the engine refuses for a reason of its own. */
    JsonObject refusal(int status, String message);
}
