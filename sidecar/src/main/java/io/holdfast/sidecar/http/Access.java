package io.holdfast.sidecar.http;

import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.ApiTokens;
import io.holdfast.sidecar.config.Secret;
import io.holdfast.sidecar.config.SidecarConfig.Listen;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.net.HostAndPort;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Who may do what through the API.
 *
 * <h2>Names</h2>
 *
 * A web page can make a browser on this machine, or inside this network, send requests here; a page whose name was made to
 * lead here even counts as ours to that browser. Only the name in the request tells, so it must be one that nobody else can
 * point here: a loopback name, the address itself, or one that the configuration allows.
 *
 * <h2>Rights</h2>
 *
 * Acting (whatever is not GET or HEAD) needs the act token where there is one. Where there is none, it needs an API that
 * listens to this machine only. Where it listens further, that a request came from the loopback address proves nothing: so do
 * those that a proxy or a service mesh hands on. Reading needs one of the tokens where there is a read token. Probes need none,
 * nor does the page, which has no data in it.
 */
public final class Access {
    private static final Set<String> PROBES = Set.of("/livez", "/readyz", "/startupz", "/healthz");
    private static final String SCHEME = "bearer ";

    private final Listen listen;
    private final Optional<Secret> readToken;
    private final Optional<Secret> actToken;

    public Access(Listen listen, ApiTokens tokens) {
        this.listen = listen;
        this.readToken = tokens.read();
        this.actToken = tokens.act();
    }

    /** Returns true if nobody may act. */
    public boolean actingRefused() {
        return actToken.isEmpty() && !listen.loopback();
    }

    /** @throws ApiError when the request may not be answered */
    void check(HttpServerRequest request, String path) {
        checkHost(request);
        checkOrigin(request);
        if (!isReading(request)) {
            requireAct(request);
        } else if (!PROBES.contains(path) && !PageRoutes.isPage(path) && !mayRead(request)) {
            throw new ApiError(401, "Reading needs a token: send it as Authorization: Bearer TOKEN.");
        }
    }

    boolean mayRead(HttpServerRequest request) {
        return readToken.isEmpty() || presents(request, readToken.get()) || mayAct(request);
    }

    boolean mayAct(HttpServerRequest request) {
        return actToken.map(token -> presents(request, token)).orElseGet(listen::loopback);
    }

    private void requireAct(HttpServerRequest request) {
        if (actingRefused()) {
            throw new ApiError(
                    403,
                    "This API listens beyond the loopback address and has no act token, so nobody may act; name one"
                            + " with listen.actTokenEnv.");
        }
        if (!mayAct(request)) {
            throw new ApiError(
                    mayBeRead(request) ? 403 : 401,
                    "Acting needs the act token: send it as Authorization: Bearer TOKEN.");
        }
    }

    private boolean mayBeRead(HttpServerRequest request) {
        return readToken.map(token -> presents(request, token)).orElse(false);
    }

    private static boolean isReading(HttpServerRequest request) {
        return request.method().equals(HttpMethod.GET) || request.method().equals(HttpMethod.HEAD);
    }

    private static boolean presents(HttpServerRequest request, Secret token) {
        String header = request.getHeader("Authorization");
        return header != null
                && header.regionMatches(true, 0, SCHEME, 0, SCHEME.length())
                && token.matches(header.substring(SCHEME.length()).strip());
    }

    private void checkHost(HttpServerRequest request) {
        if (request.headers().getAll("Host").size() > 1) {
            throw new ApiError(400, "The request has more than one Host header; send one.");
        }
        HostAndPort asked = request.authority();
        if (asked != null && isOurs(plain(asked.host()), request)) {
            return;
        }
        throw new ApiError(
                403,
                listen.loopback() && listen.allowedHosts().isEmpty()
                        ? "This API listens on the loopback address: ask for localhost or 127.0.0.1."
                        : "This API is not known by that name: ask for its address, or add the name to"
                                + " listen.allowedHosts.");
    }

    private boolean isOurs(String host, HttpServerRequest request) {
        return Listen.isLoopback(host)
                || listen.allows(host)
                || (!listen.loopback()
                        && (host.equals(plain(listen.host()))
                                || host.equals(plain(request.localAddress().hostAddress()))));
    }

    private void checkOrigin(HttpServerRequest request) {
        String origin = request.getHeader("Origin");
        if (origin == null) {
            return;
        }
        try {
            URI page = new URI(origin);
            boolean sameHost =
                    page.getRawAuthority() != null && page.getRawAuthority().equals(request.getHeader("Host"));
            if (sameHost || (page.getHost() != null && listen.allows(plain(page.getHost())))) {
                return;
            }
        } catch (URISyntaxException e) {
            // No page of ours has such an origin.
        }
        throw new ApiError(403, "Pages of other sites may not use this API.");
    }

    /** An address as names are compared: in lower case, without the brackets and the scope of IPv6. */
    private static String plain(String host) {
        String bare = host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
        int scope = bare.indexOf('%');
        return (scope < 0 ? bare : bare.substring(0, scope)).toLowerCase(Locale.ROOT);
    }
}
