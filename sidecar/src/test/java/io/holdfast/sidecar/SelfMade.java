package io.holdfast.sidecar;

import io.holdfast.sidecar.config.PemFiles;
import io.holdfast.sidecar.config.TlsConfig;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.List;
import javax.net.ssl.SSLContext;

/** A certificate for this machine that nobody else signed, in PEM. */
final class SelfMade {
    private static final char[] PASSWORD = "only-for-a-test".toCharArray();

    private final Certificate certificate;
    private final byte[] key;

    private SelfMade(Certificate certificate, byte[] key) {
        this.certificate = certificate;
        this.key = key;
    }

    /** @param algorithm RSA or EC */
    static SelfMade of(Path folder, String name, String algorithm) throws IOException, GeneralSecurityException {
        Path store = folder.resolve(name + ".p12");
        Process made = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "keytool")
                                .toString(),
                        "-J-XX:TieredStopAtLevel=1",
                        "-J-XX:+UseSerialGC",
                        "-genkeypair",
                        "-alias",
                        "a",
                        "-keyalg",
                        algorithm,
                        "-dname",
                        "CN=" + name,
                        "-ext",
                        "san=ip:127.0.0.1,dns:localhost",
                        "-storetype",
                        "PKCS12",
                        "-keystore",
                        store.toString(),
                        "-storepass",
                        new String(PASSWORD)))
                .redirectErrorStream(true)
                .start();
        String told = new String(made.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (made.onExit().join().exitValue() != 0) {
            throw new AssertionError(told);
        }
        KeyStore loaded = KeyStore.getInstance("PKCS12");
        loaded.load(new ByteArrayInputStream(Files.readAllBytes(store)), PASSWORD);
        return new SelfMade(
                loaded.getCertificate("a"), loaded.getKey("a", PASSWORD).getEncoded());
    }

    Certificate certificate() {
        return certificate;
    }

    /** Writes both files over whatever they were. */
    TlsConfig write(Path folder) throws IOException, GeneralSecurityException {
        Path chain = Files.writeString(folder.resolve("tls.crt"), pem("CERTIFICATE", certificate.getEncoded()));
        Path secret = Files.writeString(folder.resolve("tls.key"), pem("PRIVATE KEY", key));
        return new TlsConfig(chain, secret);
    }

    static String pem(String what, byte[] bytes) {
        return "-----BEGIN " + what + "-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes) + "\n-----END " + what + "-----\n";
    }

    static SSLContext trusting(TlsConfig files) throws IOException {
        return PemFiles.trust(files.certificate(), "test");
    }
}
