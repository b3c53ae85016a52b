package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.PemFiles;
import io.holdfast.sidecar.config.TlsConfig;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.ServerSSLOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** The certificate that the API shows: read at the start, and again when its files are other ones. */
public final class ServedTls {
    private static final int SECONDS = 15;

    private final TlsConfig files;
    private List<Object> stamp = List.of();

    private ServedTls(TlsConfig files) {
        this.files = files;
    }

    /** @throws IOException with one sentence, where the files do not belong together */
    static ServedTls of(TlsConfig files, HttpServerOptions options) throws IOException {
        ServedTls served = new ServedTls(files);
        served.stamp = served.now();
        options.setSsl(true).setUseAlpn(false).setKeyCertOptions(PemFiles.server(files));
        return served;
    }

    private List<Object> now() {
        return List.of(stamp(files.certificate()), stamp(files.key()));
    }

    private static Object stamp(Path file) {
        try {
            return List.of(Files.getLastModifiedTime(file), Files.size(file));
        } catch (IOException e) {
            return FileTime.fromMillis(0);
        }
    }

    /** Returns true if the files have changed since they were read. */
    public boolean isStale() {
        return !stamp.equals(now());
    }

    /**
     * Shows what the files have now, to whoever connects from then on; what cannot be read leaves what is shown.
     *
     * @throws IOException with one sentence
     */
    public void read(HttpServer server) throws IOException {
        List<Object> seen = now();
        try {
            server.updateSSLOptions(new ServerSSLOptions().setKeyCertOptions(PemFiles.server(files)))
                    .toCompletionStage()
                    .toCompletableFuture()
                    .get(SECONDS, TimeUnit.SECONDS);
            stamp = seen;
        } catch (ExecutionException | TimeoutException e) {
            throw new IOException(
                    "listen.tls is not taken (" + e.getCause() + "); what was shown before is shown on.", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    public static Optional<ServedTls> of(Optional<TlsConfig> files, HttpServerOptions options) throws IOException {
        return files.isEmpty() ? Optional.empty() : Optional.of(of(files.get(), options));
    }
}
