package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;
import java.util.List;

/** Wording of a route's answers: whole, or as the events of a stream. */
public interface ResponseFormat {
    /** The event, or events, of what is new in the answer; never called when nothing is. */
    List<JsonObject> newEvents(Choice choice);

    /** The events after the last answer has ended. */
    List<JsonObject> closingEvents(List<Choice> choices);

    /** All of it, as JSON text. */
    String whole(List<Choice> choices);

    /** The event that tells of a failure when the stream has already begun. */
    JsonObject failure(String message);

    /** Characters at the end of an unfinished answer that are not told yet. */
    default int heldBack() {
        return 0;
    }
}
