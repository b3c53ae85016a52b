package io.holdfast.sidecar.config;

import java.nio.file.Path;

/**
 * What the API is served with in place of plain HTTP.
 *
 * @param certificate PEM, with those between it and its root below it
 * @param key PEM, PKCS #8
 */
public record TlsConfig(Path certificate, Path key) {}
