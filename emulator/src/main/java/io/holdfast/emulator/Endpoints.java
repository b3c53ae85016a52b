package io.holdfast.emulator;

import java.util.OptionalInt;

/**
 * Addresses of an emulated server.
 *
 * @param host the address that it listens on
 * @param http its port, 0 for a free one
 * @param events the port of its KV events, 0 for a free one
 * @param replay the port where batches are requested again, 0 for a free one; without it nowhere
 */
public record Endpoints(String host, int http, int events, OptionalInt replay) {
    public static final String LOOPBACK = "127.0.0.1";

    /** Free ports of this machine alone, without replay. */
    public static final Endpoints FREE = new Endpoints(LOOPBACK, 0, 0, OptionalInt.empty());

    public Endpoints {
        if (host.isBlank()) {
            throw new IllegalArgumentException("The host must not be blank; " + LOOPBACK + " is this machine alone.");
        }
        check("httpPort", http);
        check("eventsPort", events);
        replay.ifPresent(port -> check("replayPort", port));
    }

    public Endpoints withHttp(int port) {
        return new Endpoints(host, port, events, replay);
    }

    public Endpoints withEvents(int port) {
        return new Endpoints(host, http, port, replay);
    }

    public Endpoints withReplay(int port) {
        return new Endpoints(host, http, events, OptionalInt.of(port));
    }

    private static void check(String name, int port) {
        if (port < 0 || port > 65_535) {
            throw new IllegalArgumentException(name + " must be 0 (a free one) to 65535, not " + port + ".");
        }
    }
}
