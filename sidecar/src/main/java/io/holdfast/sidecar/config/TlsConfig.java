package io.holdfast.sidecar.config;

import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.nio.file.Path;

/** Files that the API is served with in place of plain HTTP. */
@Reload(Change.RESTART)
public record TlsConfig(
        @Key("PEM file with the certificate, and those between it and its root below it")
        @Unit(range = "PEM")
        @Default(why = "no default: TLS needs a certificate")
        Path certificate,

        @Key("PEM file with its private key") @Unit(range = "PEM, PKCS #8") @Default(why = "as above")
        Path key) {}
