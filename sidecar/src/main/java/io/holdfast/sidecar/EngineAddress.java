package io.holdfast.sidecar;

import io.holdfast.core.pin.EngineIdentity;
import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** Where an engine serves, in one spelling: two URLs of one engine come out equal. */
final class EngineAddress {
    private EngineAddress() {}

    /** Lower case, with a port, without a trailing slash; every spelling of the loopback address is one. Asks no name server. */
    static String spelling(URI url) {
        String host = url.getHost().toLowerCase(Locale.ROOT);
        return spelling(url, SidecarConfig.Listen.isLoopback(host) ? "localhost" : host);
    }

    /** The same with the host's address in place of its name, as far as a name server knows it; may wait for that. */
    static String resolved(URI url) {
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

    /** What a ledger calls this engine. */
    static EngineIdentity identity(URI url, Optional<String> model) {
        return new EngineIdentity(spelling(url), resolved(url), model);
    }

    private static String spelling(URI url, String host) {
        String scheme = url.getScheme().toLowerCase(Locale.ROOT);
        int port = url.getPort() > 0 ? url.getPort() : scheme.equals("https") ? 443 : 80;
        String path = url.getRawPath() == null ? "" : url.getRawPath().replaceAll("/+$", "");
        return scheme + "://" + host + ":" + port + path;
    }
}
