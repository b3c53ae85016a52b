package io.holdfast.loadtest.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.loadtest.LoadTestException;
import io.holdfast.loadtest.journal.RequestRecord;
import io.holdfast.loadtest.run.RunClock;
import io.holdfast.loadtest.testing.StubEngine;
import io.holdfast.loadtest.workload.LoadRequest;
import io.holdfast.loadtest.workload.Role;
import io.vertx.core.Vertx;
import io.vertx.core.net.PfxOptions;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.AbstractThrowableAssert;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A server that signed its own certificate, which is for 127.0.0.1. */
final class TlsTest {
    private static final String SECRET = "not-a-secret";
    private static final LoadRequest REQUEST = new LoadRequest(Role.PROBE, 1, new int[] {1, 2, 3}, 2);

    /** Made once, since making it takes two processes. */
    @TempDir
    private static Path made = Path.of("");

    private final Vertx vertx = Vertx.vertx();
    private final Path certificate = made.resolve("server.pem");
    private final StubEngine engine = StubEngine.start(
            vertx,
            4,
            new PfxOptions().setPath(made.resolve("keys.p12").toString()).setPassword(SECRET));

    @TempDir
    private Path folder = Path.of("");

    @BeforeAll
    static void make() throws Exception {
        String[] store = {"-keystore", made.resolve("keys.p12").toString(), "-storepass", SECRET, "-alias", "engine"};
        keytool(store, "-genkeypair", "-keyalg", "EC", "-dname", "CN=engine", "-ext", "san=ip:127.0.0.1");
        keytool(
                store,
                "-exportcert",
                "-rfc",
                "-file",
                made.resolve("server.pem").toString());
    }

    @AfterEach
    void stop() {
        engine.close();
        vertx.close().await();
    }

    @Test
    void serverWhoseCertificateIsNamed_isAskedWithItsHeaders() {
        HttpSettings settings = HttpSettings.defaults()
                .withHeaders(Map.of("X-Team", "serving", "Authorization", "Bearer k"))
                .withCa(TrustedCa.of(certificate));
        try (HttpEngine tested = new HttpEngine(vertx, new ExistingServer(engine.uri()), settings, RunClock.system())) {
            tested.beginLife();
            assertThat(tested.flush()).isEmpty();
            assertThat(tested.client()).containsEntry("headers", "x-team").doesNotContainValue("serving");
            var load = tested.prepare(List.of(REQUEST, REQUEST));
            load.connect(2);
            assertThat(load.send(2, 2)).allMatch(RequestRecord::isOk);
        }
        assertThat(engine.uri()).hasScheme("https");
        assertThat(engine.headers)
                .hasSizeGreaterThanOrEqualTo(5)
                .allSatisfy(sent ->
                        assertThat(sent).containsEntry("x-team", "serving").containsEntry("authorization", "Bearer k"));
    }

    @Test
    void serverThatNobodyVouchesFor_isRefusedWithWhatToDo() {
        assertRefused(engine.uri(), HttpSettings.defaults())
                .hasMessageContaining("is not ready: its certificate is not trusted (")
                .hasMessageEndingWith("; name the file of that certificate, or of who issued it, by --ca, and write the"
                        + " address with the name that it is for.");
        assertThatThrownBy(() -> HttpEngine.firstModel(engine.uri(), HttpSettings.defaults(), RunClock.system()))
                .hasMessageContaining("its certificate is not trusted (");
        assertThat(engine.paths).isEmpty();
    }

    @Test
    void certificateForAnotherName_isNotTrusted() {
        URI named = URI.create("https://localhost:" + engine.uri().getPort());
        assertRefused(named, HttpSettings.defaults().withCa(TrustedCa.of(certificate)))
                .hasMessageContaining("its certificate is not trusted (");
    }

    @Test
    void serverWithoutTls_isNamed() {
        try (StubEngine plain = StubEngine.start(vertx, 4)) {
            assertRefused(URI.create("https://127.0.0.1:" + plain.uri().getPort()), HttpSettings.defaults())
                    .hasMessageContaining("it does not speak TLS as it should (")
                    .hasMessageEndingWith("; check whether its address begins with http://.");
        }
    }

    @Test
    void fileWithoutCertificates_isRefusedInOneSentence() throws IOException {
        Path text = Files.writeString(folder.resolve("text"), "hello");
        Path empty = Files.writeString(folder.resolve("empty"), "");
        for (Path file : List.of(text, empty)) {
            assertThatThrownBy(() -> TrustedCa.of(file))
                    .isInstanceOf(LoadTestException.class)
                    .hasMessage("The file " + file + " has no certificates that can be read; name one in PEM, which"
                            + " begins with -----BEGIN CERTIFICATE-----.");
        }
        assertThatThrownBy(() -> TrustedCa.of(folder.resolve("nosuch")))
                .isInstanceOf(LoadTestException.class)
                .hasMessageEndingWith("cannot be read; name one that is there.");
    }

    private AbstractThrowableAssert<?, ? extends Throwable> assertRefused(URI server, HttpSettings settings) {
        try (HttpEngine tested = new HttpEngine(vertx, new ExistingServer(server), settings, RunClock.system())) {
            return assertThatThrownBy(tested::beginLife).isInstanceOf(LoadTestException.class);
        }
    }

    private static void keytool(String[] store, String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString()));
        command.addAll(List.of(args));
        command.addAll(List.of(store));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(told).isZero();
    }
}
