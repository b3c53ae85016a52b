package io.holdfast.sidecar.config;

import io.holdfast.core.pin.EngineIdentity;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.zip.CRC32C;

/** Address of an engine in one spelling: two URLs of one engine come out equal. */
public final class EngineAddress {
    /** An engine's answer may be megabytes, and the name is written to disk and shown. */
    private static final int MOST_MODEL_CHARS = 512;

    private static final int SHOWN_CODE_POINTS = 200;

    private EngineAddress() {}

    /** Lower case, with a port, without a trailing slash; every spelling of the loopback address is one. Asks no name server. */
    public static String spelling(URI url) {
        String host = url.getHost().toLowerCase(Locale.ROOT);
        return spelling(url, SidecarConfig.Listen.isLoopback(host) ? "localhost" : host);
    }

    /** Returns the spelling with the host's address, if a name server knows it, else its name; may wait for that. */
    public static String resolved(URI url) {
        try {
            InetAddress[] all = InetAddress.getAllByName(url.getHost());
            boolean here = Arrays.stream(all).allMatch(each -> each.isLoopbackAddress() || each.isAnyLocalAddress());
            // Name servers give several addresses in any order.
            String first = Arrays.stream(all)
                    .map(InetAddress::getHostAddress)
                    .sorted()
                    .findFirst()
                    .orElse(url.getHost());
            return spelling(url, here ? "localhost" : first);
        } catch (UnknownHostException e) {
            return spelling(url);
        }
    }

    /** Returns the name of this engine in a ledger. */
    public static EngineIdentity identity(URI url, Optional<String> model) {
        return new EngineIdentity(spelling(url), resolved(url), model.map(EngineAddress::bounded));
    }

    /** The name, or of a longer one than any real model has its beginning and a checksum of all of it. */
    private static String bounded(String model) {
        if (model.length() <= MOST_MODEL_CHARS) {
            return model;
        }
        CRC32C checksum = new CRC32C();
        checksum.update(model.getBytes(StandardCharsets.UTF_8));
        String begin = model.substring(0, model.offsetByCodePoints(0, SHOWN_CODE_POINTS));
        return "%s... (%d characters, CRC-32C %08x)".formatted(begin, model.length(), checksum.getValue());
    }

    private static String spelling(URI url, String host) {
        String scheme = url.getScheme().toLowerCase(Locale.ROOT);
        int port = url.getPort() > 0 ? url.getPort() : scheme.equals("https") ? 443 : 80;
        String path = url.getRawPath() == null ? "" : url.getRawPath().replaceAll("/+$", "");
        return scheme + "://" + host + ":" + port + path;
    }
}
