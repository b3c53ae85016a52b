package io.holdfast.emulator;

import io.holdfast.emulator.wire.EventSettings;
import java.util.OptionalInt;

/**
 * Addresses of an emulated server.
 *
 * @param host the address that it listens on
 * @param http its port, 0 for a free one
 * @param events the port of its KV events, 0 for a free one
 * @param replay the port where batches are requested again, 0 for a free one; without it nowhere
 * @param repeats how many past batches it repeats there
 */
public record Endpoints(String host, int http, int events, OptionalInt replay, int repeats) {
    public static final String LOOPBACK = "127.0.0.1";

    /** Free ports of this machine alone, without replay. */
    public static final Endpoints FREE = new Endpoints(LOOPBACK, 0, 0, OptionalInt.empty(), EventSettings.BUFFER_STEPS);

    public Endpoints {
        if (host.isBlank()) {
            throw new IllegalArgumentException("The host must not be blank; " + LOOPBACK + " is this machine alone.");
        }
        check("httpPort", http);
        check("eventsPort", events);
        replay.ifPresent(port -> check("replayPort", port));
    }

    /** A server that repeats as many past batches as real ones do by default, if any. */
    public Endpoints(String host, int http, int events, OptionalInt replay) {
        this(host, http, events, replay, EventSettings.BUFFER_STEPS);
    }

    public Endpoints withHttp(int port) {
        return new Endpoints(host, port, events, replay, repeats);
    }

    public Endpoints withEvents(int port) {
        return new Endpoints(host, http, port, replay, repeats);
    }

    public Endpoints withReplay(int port) {
        return new Endpoints(host, http, events, OptionalInt.of(port), repeats);
    }

    public Endpoints withRepeats(int batches) {
        return new Endpoints(host, http, events, replay, batches);
    }

    private static void check(String name, int port) {
        if (port < 0 || port > 65_535) {
            throw new IllegalArgumentException(name + " must be 0 (a free one) to 65535, not " + port + ".");
        }
    }
}
