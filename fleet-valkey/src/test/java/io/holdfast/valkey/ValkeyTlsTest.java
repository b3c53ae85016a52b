package io.holdfast.valkey;

import static io.holdfast.valkey.Stores.LONG;
import static io.holdfast.valkey.Stores.PATIENT;
import static io.holdfast.valkey.Stores.done;
import static io.holdfast.valkey.Stores.failure;
import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.embed.cell.FleetStore.Key;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** TLS before a real server, spoken by a relay: few builds of a server speak it themselves. */
class ValkeyTlsTest {
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final Key KEY = new Key("c", "digest", "one");

    @Test
    void serverWithACertificateOfTheGivenAuthority_isTrusted_andNoOther(@TempDir Path directory) throws Exception {
        KeyStore keys = keys(directory.resolve("keys.p12"));
        Path authority = Files.writeString(
                directory.resolve("ca.pem"),
                "-----BEGIN CERTIFICATE-----\n"
                        + Base64.getMimeEncoder()
                                .encodeToString(keys.getCertificate("one").getEncoded())
                        + "\n-----END CERTIFICATE-----\n");
        try (LocalValkey server = LocalValkey.start(directory.resolve("server"));
                Relay relay = new Relay(door(keys), server.port());
                ValkeyFleetStore trusting =
                        Stores.open("valkeys://127.0.0.1:" + relay.port() + "?ca=" + authority, PATIENT);
                ValkeyFleetStore strict = Stores.open("valkeys://127.0.0.1:" + relay.port(), PATIENT);
                ValkeyFleetStore plain = Stores.open("valkey://127.0.0.1:" + relay.port(), PATIENT)) {
            done(trusting.put(KEY, new byte[] {1}, LONG));
            assertThat(done(trusting.get(KEY))).contains(new byte[] {1});
            assertThat(failure(strict.get(KEY)).orElseThrow())
                    .contains("cannot be reached")
                    .contains("certification path");
            assertThat(failure(plain.get(KEY))).isPresent();
        }
    }

    private static ServerSocket door(KeyStore keys) throws Exception {
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(keys, PASSWORD);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(factory.getKeyManagers(), null, null);
        return tls.getServerSocketFactory().createServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    private static KeyStore keys(Path file) throws Exception {
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair -alias one -keyalg EC -validity 2 -storetype PKCS12 -storepass changeit -dname CN=test"
                        + " -ext san=ip:127.0.0.1 -keystore " + file);
        Process made = new ProcessBuilder((command.getFirst() + " " + command.getLast()).split(" "))
                .redirectErrorStream(true)
                .start();
        String printed = new String(made.getInputStream().readAllBytes());
        assertThat(made.waitFor()).as(printed).isZero();
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        return keys;
    }
}
