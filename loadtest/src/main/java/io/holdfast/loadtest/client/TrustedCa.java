package io.holdfast.loadtest.client;

import io.holdfast.loadtest.LoadTestException;
import io.vertx.core.net.TrustOptions;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/**
 * Trusted certificates, in a PEM file: a server's has to be one of them or be issued by one. There is no way to trust
 * everybody, since keys and prompts would go to anyone who answers; a server that signed its own certificate is trusted
 * by that file.
 */
public final class TrustedCa {
    private final TrustManager[] trust;

    private TrustedCa(TrustManager[] trust) {
        this.trust = trust;
    }

    public static TrustedCa of(Path file) {
        Collection<? extends Certificate> certificates;
        try (InputStream in = Files.newInputStream(file)) {
            certificates = CertificateFactory.getInstance("X.509").generateCertificates(in);
        } catch (IOException e) {
            throw new LoadTestException(
                    "The file of certificates " + file + " cannot be read; name one that is there.", e);
        } catch (GeneralSecurityException e) {
            throw withoutAny(file, e);
        }
        if (certificates.isEmpty()) {
            throw withoutAny(file, new IOException("no certificate"));
        }
        return new TrustedCa(trust(certificates));
    }

    private static LoadTestException withoutAny(Path file, Exception cause) {
        return new LoadTestException(
                "The file " + file + " has no certificates that can be read; name one in PEM, which begins with"
                        + " -----BEGIN CERTIFICATE-----.",
                cause);
    }

    private static TrustManager[] trust(Collection<? extends Certificate> certificates) {
        try {
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int number = 0;
            for (Certificate certificate : certificates) {
                store.setCertificateEntry(Integer.toString(number++), certificate);
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(store);
            return factory.getTrustManagers();
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    SSLContext context() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust, null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    TrustOptions options() {
        return TrustOptions.wrap(trust[0]);
    }
}
