package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import com.fasterxml.jackson.core.JsonToken;
import io.holdfast.core.hold.Hint;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.util.Locale;
import java.util.Optional;

/**
 * The body of a hint: which conversation, what becomes of it, and who says so.
 *
 * @param requester empty where the body names none
 */
record HintBody(PrefixSource source, Hint says, String requester) implements HttpApi.PrefixBody {
    private static final String WORDS = "write used, goes_on or over";

    /**
     * Refuses with {@link ApiError} what is not exactly such a body.
     *
     * @param mostBlocks more hashes than that are not even read
     */
    static HintBody parse(byte[] bytes, int mostBlocks) {
        PrefixFields prefix = new PrefixFields(mostBlocks);
        LeaseFields who = new LeaseFields();
        Said said = new Said();
        PrefixFields.each(bytes, "{\"tokens\":[1,2,3],\"says\":\"used\"}", (field, json) -> {
            if (field.equals("says")) {
                said.hint = Optional.of(hint(json.currentToken() == JsonToken.VALUE_STRING ? json.getText() : ""));
            } else if (!prefix.take(field, json) && !(field.equals("requester") && who.take(field, json))) {
                throw badRequest("The field " + shown(field) + " is unknown; a hint has " + PrefixFields.WAYS
                        + ", says, and perhaps requester.");
            }
        });
        PrefixSource source = prefix.source();
        Hint hint = said.hint.orElseThrow(() -> badRequest("says is missing; " + WORDS + "."));
        if (hint == Hint.OVER && who.requester().isEmpty()) {
            throw badRequest("requester is missing; \"over\" ends what its requester requested, and a hold"
                    + " without a requester is released by its number.");
        }
        return new HintBody(source, hint, who.requester().orElse(""));
    }

    private static final class Said {
        Optional<Hint> hint = Optional.empty();
    }

    private static Hint hint(String written) {
        for (Hint hint : Hint.values()) {
            if (hint.name().toLowerCase(Locale.ROOT).equals(written)) {
                return hint;
            }
        }
        throw badRequest("says is " + shown(written) + "; " + WORDS + ".");
    }
}
