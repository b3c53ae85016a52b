package io.holdfast.sidecar.config;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.PemKeyCertOptions;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Certificates and keys in PEM files, read whole and checked before anything is done with them. */
public final class PemFiles {
    private static final long MOST_BYTES = 1 << 20;
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    private static final byte[] PROOF = "holdfast".getBytes(StandardCharsets.US_ASCII);

    private PemFiles() {}

    /**
     * Returns a context that trusts the certificates of this file, and no others.
     *
     * @param key of the configuration, for the sentence that says what is wrong
     */
    public static SSLContext trust(Path file, String key) throws IOException {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int number = 0;
            for (Certificate each : certificates(file, key)) {
                store.setCertificateEntry("ca" + number++, each);
            }
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, managers.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IOException(key + " " + file + " cannot be used (" + e.getMessage() + ").", e);
        }
    }

    /** Returns what a server shows, from two files that belong together. */
    public static PemKeyCertOptions server(TlsConfig tls) throws IOException {
        Collection<? extends Certificate> chain = certificates(tls.certificate(), "listen.tls.certificate");
        byte[] key = text(tls.key(), "listen.tls.key").getBytes(StandardCharsets.US_ASCII);
        requirePair(chain.iterator().next(), tls.key(), new String(key, StandardCharsets.US_ASCII));
        return new PemKeyCertOptions()
                .setCertValue(Buffer.buffer(text(tls.certificate(), "listen.tls.certificate")))
                .setKeyValue(Buffer.buffer(key));
    }

    private static void requirePair(Certificate certificate, Path file, String pem) throws IOException {
        Matcher found = KEY.matcher(pem);
        if (!found.find()) {
            throw new IOException("listen.tls.key " + file
                    + " has no private key in PKCS #8 (BEGIN PRIVATE KEY); make one of it with openssl pkcs8 -topk8"
                    + " -nocrypt.");
        }
        try {
            String algorithm = certificate.getPublicKey().getAlgorithm();
            PrivateKey key = KeyFactory.getInstance(algorithm)
                    .generatePrivate(
                            new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1))));
            Signature signature = Signature.getInstance(
                    switch (algorithm) {
                        case "RSA" -> "SHA256withRSA";
                        case "EC" -> "SHA256withECDSA";
                        default -> algorithm;
                    });
            signature.initSign(key);
            signature.update(PROOF);
            byte[] signed = signature.sign();
            signature.initVerify(certificate.getPublicKey());
            signature.update(PROOF);
            if (!signature.verify(signed)) {
                throw new GeneralSecurityException("it is the key of another certificate");
            }
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw new IOException(
                    "listen.tls.key " + file + " does not fit listen.tls.certificate (" + e.getMessage()
                            + "); name the two files that were made together.",
                    e);
        }
    }

    private static Collection<? extends Certificate> certificates(Path file, String key) throws IOException {
        try {
            Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509")
                    .generateCertificates(
                            new ByteArrayInputStream(text(file, key).getBytes(StandardCharsets.US_ASCII)));
            if (found.isEmpty()) {
                throw new GeneralSecurityException("there is none in it");
            }
            return found;
        } catch (GeneralSecurityException e) {
            throw new IOException(
                    key + " " + file + " has no certificates in PEM (" + e.getMessage() + "); name the file that does.",
                    e);
        }
    }

    private static String text(Path file, String key) throws IOException {
        try {
            if (Files.size(file) > MOST_BYTES) {
                throw new IOException(key + " " + file + " is larger than 1 MiB; name a PEM file.");
            }
            return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            if (String.valueOf(e.getMessage()).startsWith(key)) {
                throw e;
            }
            throw new IOException(key + " " + file + " cannot be read (" + e + "); name a file of this machine.", e);
        }
    }
}
