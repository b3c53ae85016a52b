package io.holdfast.http;

import java.security.KeyManagementException;
import java.security.Provider;
import java.security.SecureRandom;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;

/**
 * The TLS of a client that speaks plain HTTP alone: none. The JDK's client otherwise reads every root certificate and loads
 * hundreds of classes at its creation, whatever it is used for.
 */
final class PlainText extends SSLContext {
    PlainText() {
        super(new None(), new Nobody(), "none");
    }

    private static final class Nobody extends Provider {
        private static final long serialVersionUID = 1;

        Nobody() {
            super("plain text", "1", "no TLS");
        }
    }

    private static final class None extends SSLContextSpi {
        @Override
        protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random)
                throws KeyManagementException {
            throw new KeyManagementException("This client speaks plain HTTP alone.");
        }

        @Override
        protected SSLSocketFactory engineGetSocketFactory() {
            throw refusal();
        }

        @Override
        protected SSLServerSocketFactory engineGetServerSocketFactory() {
            throw refusal();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine() {
            throw refusal();
        }

        @Override
        protected SSLEngine engineCreateSSLEngine(String host, int port) {
            throw refusal();
        }

        @Override
        protected SSLSessionContext engineGetServerSessionContext() {
            throw refusal();
        }

        @Override
        protected SSLSessionContext engineGetClientSessionContext() {
            throw refusal();
        }

        @Override
        protected SSLParameters engineGetDefaultSSLParameters() {
            return new SSLParameters(new String[0]);
        }

        @Override
        protected SSLParameters engineGetSupportedSSLParameters() {
            return new SSLParameters(new String[0]);
        }

        private static UnsupportedOperationException refusal() {
            return new UnsupportedOperationException("This client speaks plain HTTP alone.");
        }
    }
}
