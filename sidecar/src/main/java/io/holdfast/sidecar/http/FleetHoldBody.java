package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.embed.cell.FleetHold;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The body of a request for a hold of the fleet.
 *
 * @param copies how many engines are to have it; {@link FleetHold#ALL} for each
 * @param engine an engine of this sidecar whose cell is meant, and which makes tokens of a text; absent where there is but one
 */
record FleetHoldBody(
        PrefixSource source, int copies, Duration lease, int weight, String requester, Optional<String> engine) {
    private static final int MOST_COPIES = 1_000;

    /**
     * Refuses with {@link ApiError} what is not exactly such a body.
     *
     * @param mostBlocks more hashes than that are not even read
     */
    static FleetHoldBody parse(byte[] bytes, int mostBlocks) {
        PrefixFields prefix = new PrefixFields(mostBlocks);
        LeaseFields lease = new LeaseFields();
        Said said = new Said();
        PrefixFields.each(bytes, "{\"tokens\":[1,2,3],\"copies\":2,\"leaseSeconds\":3600}", (field, json) -> {
            switch (field) {
                case "copies" -> said.copies = OptionalInt.of(copies(json));
                case "engine" -> said.engine = Optional.of(text(json));
                case "leaseSeconds", "weight", "requester" -> {
                    boolean _ = lease.take(field, json);
                }
                default -> {
                    if (!prefix.take(field, json)) {
                        throw badRequest("The field " + shown(field) + " is unknown; a hold of the fleet has tokens,"
                                + " text or messages, copies, leaseSeconds, and perhaps weight, requester and engine.");
                    }
                }
            }
        });
        return new FleetHoldBody(
                prefix.source(),
                said.copies.orElseThrow(
                        () -> badRequest("copies is missing; write how many engines are to have it, or \"all\".")),
                lease.length(),
                lease.weight(),
                lease.requester().orElse(""),
                said.engine);
    }

    /** What was read so far. */
    private static final class Said {
        private OptionalInt copies = OptionalInt.empty();
        private Optional<String> engine = Optional.empty();
    }

    private static int copies(JsonParser json) throws IOException {
        String written = json.getText();
        if (json.currentToken() == JsonToken.VALUE_STRING && written.equals("all")) {
            return FleetHold.ALL;
        }
        boolean number = json.currentToken() == JsonToken.VALUE_NUMBER_INT && written.matches("[0-9]{1,4}");
        int copies = number ? Integer.parseInt(written) : 0;
        if (copies < 1 || copies > MOST_COPIES) {
            throw badRequest("copies is neither \"all\" nor a whole number of 1 to " + MOST_COPIES + ".");
        }
        return copies;
    }

    private static String text(JsonParser json) throws IOException {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw badRequest("engine is not a string; write the name of an engine of this sidecar.");
        }
        return json.getText();
    }
}
