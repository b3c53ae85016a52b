package io.holdfast.vllm;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The secret that an engine's connector shares with its sidecar. It proves what is asked, and never travels. */
public final class ConnectorSecret {
    private static final String ALGORITHM = "HmacSHA256";

    private final SecretKeySpec key;

    private ConnectorSecret(SecretKeySpec key) {
        this.key = key;
    }

    /** Returns the secret with this text. */
    public static ConnectorSecret of(String text) {
        return new ConnectorSecret(new SecretKeySpec(text.getBytes(StandardCharsets.UTF_8), ALGORITHM));
    }

    /** Returns what only this secret makes of a message. */
    String proof(String message) {
        try {
            Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            return HexFormat.of().formatHex(mac.doFinal(message.getBytes(StandardCharsets.UTF_8)));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("Each Java platform has " + ALGORITHM + ".", e);
        }
    }

    @Override
    public String toString() {
        return "a connector's secret";
    }
}
