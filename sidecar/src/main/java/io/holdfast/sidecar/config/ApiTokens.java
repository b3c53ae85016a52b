package io.holdfast.sidecar.config;

import io.holdfast.sidecar.config.SidecarConfig.Listen;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;

/**
 * Secrets that clients of the API present.
 *
 * @param read for reading; absent where anybody may read
 * @param act for acting
 */
public record ApiTokens(Optional<Secret> read, Optional<Secret> act) {
    /**
     * Reads the tokens that the configuration names.
     *
     * @throws IOException with one sentence, when a token is not in the environment as it has to be
     */
    public static ApiTokens of(Listen listen, Map<String, String> environment) throws IOException {
        Optional<Secret> read = token(environment, listen.readTokenEnv(), "listen.readTokenEnv");
        Optional<Secret> act = token(environment, listen.actTokenEnv(), "listen.actTokenEnv");
        if (read.isPresent() && act.isPresent() && read.get().matches(act.get())) {
            throw new IOException("The environment variables " + read.get().variable() + " and "
                    + act.get().variable()
                    + " hold the same token, so that every reader could act; set them to different ones.");
        }
        return new ApiTokens(read, act);
    }

    private static Optional<Secret> token(Map<String, String> environment, Optional<String> variable, String key)
            throws IOException {
        return variable.isEmpty() ? Optional.empty() : Optional.of(Secret.token(environment, variable.get(), key));
    }
}
