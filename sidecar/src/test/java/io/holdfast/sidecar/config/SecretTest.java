package io.holdfast.sidecar.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class SecretTest {
    @Test
    void whiteSpaceAroundASecret_isNoPartOfIt() throws IOException {
        Secret secret = Secret.read(Map.of("KEY", " s3cr3t-admin-key\r\n"), "KEY", "engines.main.apiKeyEnv");

        assertThat(secret.bearer()).isEqualTo("Bearer s3cr3t-admin-key");
        assertThat(secret).hasToString("the secret in KEY");
    }

    @ParameterizedTest
    @ValueSource(strings = {"s3cr3t\nmore", "s3cr3t\u0000x", "s3cr3t x", "s3cr3t\u007f", "s3cr3té", "s3cr3t\tx"})
    void secretThatNoHeaderCarries_isRefusedUnseen(String value) {
        assertThatThrownBy(() -> Secret.read(Map.of("KEY", value), "KEY", "engines.main.apiKeyEnv"))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("The environment variable KEY, which engines.main.apiKeyEnv names, has a space")
                .hasMessageMatching("[^\\n]+\\.")
                .hasMessageNotContaining("s3cr3t");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\n", "\t\r\n"})
    void emptySecret_isRefusedByName(String value) {
        assertThatThrownBy(() -> Secret.read(Map.of("KEY", value), "KEY", "engines.main.apiKeyEnv"))
                .hasMessage("The environment variable KEY, which engines.main.apiKeyEnv names, is empty; set it or"
                        + " leave apiKeyEnv out.");
    }

    @Test
    void shortToken_isRefusedUnseen() {
        assertThatThrownBy(() -> Secret.token(Map.of("ACT", "hunter2"), "ACT", "listen.actTokenEnv"))
                .hasMessageContaining("fewer than 16 characters")
                .hasMessageNotContaining("hunter2");
    }
}
