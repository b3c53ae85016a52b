package io.holdfast.sidecar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.emulator.Emulator;
import io.holdfast.rules.sglang.SglangSettings.Variant;
import io.holdfast.sidecar.config.ConfigSources;
import io.holdfast.sidecar.config.PemFiles;
import io.holdfast.sidecar.config.SidecarException;
import io.holdfast.sidecar.config.TlsConfig;
import io.holdfast.sidecar.engine.SharedServices.Seams;
import io.holdfast.sidecar.fleet.Reloads;
import io.holdfast.sidecar.fleet.Sidecar;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.Vertx;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpServer;
import io.vertx.core.http.HttpServerOptions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.cert.Certificate;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The API over TLS, and engines behind it. */
class TlsTest {
    private static final URI NOBODY = URI.create("http://127.0.0.1:9");

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Vertx vertx = Sidecar.instrumented(registry);

    @TempDir
    Path directory;

    private static SelfMade one;
    private static SelfMade two;

    @BeforeAll
    static void make(@TempDir Path stores) throws IOException, GeneralSecurityException {
        one = SelfMade.of(stores, "one", "RSA");
        two = SelfMade.of(stores, "two", "EC");
    }

    @AfterEach
    void stop() {
        vertx.close().toCompletionStage().toCompletableFuture().join();
    }

    private Sidecar start(TlsConfig tls, Seams seams) throws IOException {
        Path config = Files.writeString(
                directory.resolve("h.yaml"),
                TestBed.yaml(directory.resolve("state"), NOBODY, "")
                        .replace(
                                "{port: 0}",
                                "{port: 0, tls: {certificate: '" + tls.certificate() + "', key: '" + tls.key()
                                        + "'}}"));
        ConfigSources sources = ConfigSources.of(Optional.of(config), Map.of("HOME", directory.toString()), List.of());
        return Sidecar.start(
                vertx, new Reloads.Sources(() -> sources.read().config(), sources::stamp), registry, seams);
    }

    /** What one request over a fresh connection is answered, and by whom. */
    private record Seen(String answer, Certificate by) {}

    private static Seen get(URI api, SSLContext trust, String path) {
        try (SSLSocket socket = (SSLSocket) trust.getSocketFactory().createSocket("127.0.0.1", api.getPort())) {
            socket.startHandshake();
            socket.getOutputStream()
                    .write(("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Seen(answer, socket.getSession().getPeerCertificates()[0]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void api_isServedInHttpsAlone() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        try (Sidecar sidecar = start(files, Seams.none())) {
            assertThat(sidecar.uri().getScheme()).isEqualTo("https");

            assertThat(get(sidecar.uri(), SelfMade.trusting(files), "/livez").answer())
                    .startsWith("HTTP/1.1 200 ")
                    .contains("\"live\":true");

            assertThatThrownBy(() -> get(sidecar.uri(), SSLContext.getDefault(), "/livez"))
                    .hasCauseInstanceOf(SSLHandshakeException.class);
            try (Socket plain =
                    new Socket(InetAddress.getLoopbackAddress(), sidecar.uri().getPort())) {
                plain.getOutputStream()
                        .write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                assertThat(new String(plain.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
                        .doesNotContain("live");
            }
        }
    }

    @Test
    void otherFiles_areShownByAReload() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        try (Sidecar sidecar = start(files, Seams.none())) {
            assertThat(get(sidecar.uri(), SelfMade.trusting(files), "/livez").by())
                    .isEqualTo(one.certificate());

            two.write(directory);
            sidecar.reload();

            assertThat(get(sidecar.uri(), SelfMade.trusting(files), "/livez").by())
                    .isEqualTo(two.certificate());
        }
    }

    @Test
    void otherFiles_areShownByThemselves() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        SSLContext trusted = SelfMade.trusting(files);
        try (Sidecar sidecar = start(files, Seams.none().withPace(50))) {
            assertThat(get(sidecar.uri(), trusted, "/livez").answer()).startsWith("HTTP/1.1 200 ");
            two.write(directory);
            SSLContext both = SelfMade.trusting(files);

            Seen seen = Eventually.see(
                            "the other certificate is shown",
                            () -> {
                                try {
                                    return Optional.of(get(sidecar.uri(), both, "/livez"));
                                } catch (UncheckedIOException e) {
                                    return Optional.<Seen>empty();
                                }
                            },
                            Optional::isPresent)
                    .orElseThrow();

            assertThat(seen.by()).isEqualTo(two.certificate());
        }
    }

    @Test
    void filesThatDoNotBelongTogether_leaveWhatIsShown() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        SSLContext trusted = SelfMade.trusting(files);
        try (Sidecar sidecar = start(files, Seams.none())) {
            TlsConfig others = two.write(Files.createDirectories(directory.resolve("others")));
            Files.copy(others.key(), files.key(), java.nio.file.StandardCopyOption.REPLACE_EXISTING);

            assertThatThrownBy(sidecar::reload)
                    .isInstanceOf(SidecarException.class)
                    .hasMessageStartingWith("listen.tls.key " + files.key() + " does not fit listen.tls.certificate (")
                    .hasMessageEndingWith("); name the two files that were made together.");
            Seen seen = get(sidecar.uri(), trusted, "/readyz");
            assertThat(seen.by()).isEqualTo(one.certificate());
            assertThat(seen.answer()).contains("does not fit listen.tls.certificate");
        }
    }

    @Test
    void filesThatCannotBeUsed_areOneSentence() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        Path text = Files.writeString(directory.resolve("text"), "hello");

        assertThatThrownBy(() -> start(new TlsConfig(text, files.key()), Seams.none()))
                .isInstanceOf(SidecarException.class)
                .hasMessageStartingWith("listen.tls.certificate " + text + " has no certificates in PEM");
        assertThatThrownBy(() -> start(new TlsConfig(files.certificate(), text), Seams.none()))
                .hasMessageStartingWith("listen.tls.key " + text + " has no private key in PKCS #8");
        assertThatThrownBy(() -> start(new TlsConfig(directory.resolve("none"), text), Seams.none()))
                .hasMessageStartingWith("listen.tls.certificate " + directory.resolve("none") + " cannot be read");
    }

    @Test
    void engineBehindHttps_isBelievedByItsCaFileAlone() throws IOException, GeneralSecurityException {
        TlsConfig files = one.write(directory);
        Path other =
                two.write(Files.createDirectories(directory.resolve("other"))).certificate();
        try (Emulator emulator = Emulator.start(vertx, TestBed.fast().withVariant(Variant.PIN_GPU));
                EngineClient engine = new EngineClient(emulator.uri())) {
            int port = front(files, emulator.uri());
            String url = "https://127.0.0.1:" + port;
            try (Sidecar sidecar = Sidecar.start(
                            vertx,
                            TestBed.config(
                                    directory.resolve("state"),
                                    URI.create(url),
                                    "caFile: '" + files.certificate() + "'"));
                    SidecarClient client = new SidecarClient(sidecar.uri())) {
                client.meet(engine);
                int[] prefix = EngineClient.prompt(1, 256);
                engine.generate(prefix);
                client.held(prefix);
                assertThat(engine.usedTokens()).isEqualTo(256);
            }
            for (String keys : List.of("", "caFile: '" + other + "'")) {
                try (Sidecar sidecar = Sidecar.start(
                                vertx, TestBed.config(directory.resolve("state"), URI.create(url), keys));
                        Http http = new Http(sidecar.uri())) {
                    Eventually.see(
                            "it is not believed",
                            () -> http.get("/readyz").text(),
                            text -> text.contains("the certificate of https://127.0.0.1:"));
                }
            }
            assertThatThrownBy(() -> Sidecar.start(
                            vertx,
                            TestBed.config(
                                    directory.resolve("state"),
                                    URI.create(url),
                                    "caFile: '" + directory.resolve("nosuch") + "'")))
                    .isInstanceOf(SidecarException.class)
                    .hasMessageStartingWith("engines.demo.caFile " + directory.resolve("nosuch") + " cannot be read");
        }
    }

    /** Something that ends TLS before an engine. */
    private int front(TlsConfig tls, URI engine) throws IOException {
        HttpClient client = vertx.createHttpClient(new HttpClientOptions());
        HttpServer server =
                vertx.createHttpServer(new HttpServerOptions().setSsl(true).setKeyCertOptions(PemFiles.server(tls)));
        server.requestHandler(asked -> asked.body()
                .compose(body -> client.request(asked.method(), engine.getPort(), engine.getHost(), asked.uri())
                        .compose(request -> {
                            request.headers().addAll(asked.headers());
                            return request.send(body);
                        })
                        .compose(answer -> answer.body()
                                .compose(said -> asked.response()
                                        .setStatusCode(answer.statusCode())
                                        .putHeader("content-type", String.valueOf(answer.getHeader("content-type")))
                                        .end(said))))
                .onFailure(failure -> asked.response().setStatusCode(502).end()));
        return server.listen(0, "127.0.0.1")
                .toCompletionStage()
                .toCompletableFuture()
                .join()
                .actualPort();
    }
}
