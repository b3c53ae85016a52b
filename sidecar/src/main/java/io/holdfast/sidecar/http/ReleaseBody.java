package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.io.IOException;
import java.util.Optional;

/** The body of a release: exactly one of a requester, a prefix and a session. */
sealed interface ReleaseBody {
    /** All that one requester wants. */
    record OfRequester(String requester) implements ReleaseBody {}

    /** All that is held on a path. */
    record OnPrefix(PrefixSource source) implements ReleaseBody {}

    /** A session of the engine. */
    record OfSession(String session) implements ReleaseBody {}

    /** Characters that ids of sessions are made of; none of them means anything in JSON. */
    String SESSION = "[A-Za-z0-9._:-]{1,128}";

    /**
     * Refuses with {@link ApiError} what is not exactly such a body.
     *
     * @param mostBlocks more hashes than that are not even read
     */
    static ReleaseBody parse(byte[] bytes, int mostBlocks) {
        PrefixFields prefix = new PrefixFields(mostBlocks);
        LeaseFields who = new LeaseFields();
        Said said = new Said();
        PrefixFields.each(bytes, "{\"requester\":\"agent-7\"}", (field, json) -> {
            if (field.equals("session")) {
                said.session = Optional.of(session(json));
            } else if (prefix.take(field, json)) {
                said.prefix = true;
            } else if (!(field.equals("requester") && who.take(field, json))) {
                throw badRequest("The field " + shown(field) + " is unknown; a release has one of requester, session, "
                        + PrefixFields.WAYS + ".");
            }
        });
        int count = (who.requester().isPresent() ? 1 : 0) + (said.session.isPresent() ? 1 : 0) + (said.prefix ? 1 : 0);
        if (count != 1) {
            throw badRequest((count == 0 ? "The body names nothing" : "The body names several things")
                    + " to release; send one of requester, session, " + PrefixFields.WAYS + ".");
        }
        if (said.prefix) {
            return new OnPrefix(prefix.source());
        }
        return who.requester()
                .<ReleaseBody>map(OfRequester::new)
                .orElseGet(() -> new OfSession(said.session.orElseThrow()));
    }

    /** What was read so far. */
    final class Said {
        private Optional<String> session = Optional.empty();
        private boolean prefix;
    }

    private static String session(JsonParser json) throws IOException {
        String written = json.currentToken() == JsonToken.VALUE_STRING ? json.getText() : "";
        if (!written.matches(SESSION)) {
            throw badRequest("session is no id of a session; write 1 to 128 letters, digits and . _ : - as the client"
                    + " sends it with its requests.");
        }
        return written;
    }
}
