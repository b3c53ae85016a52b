package io.holdfast.rules.engine;

import java.util.List;

/** Order of a request to the connector that the engine has loaded, beside its own answer. */
public sealed interface HoldOrder {
    /** Every hold there is, in place of names. */
    List<String> ALL = List.of("*");

    /**
     * Holds the full blocks of the request's prompt once it has finished; renews and replaces a hold of that name.
     *
     * @param ttlSeconds after which it ends
     */
    record Hold(String id, long ttlSeconds) implements HoldOrder {}

    /** Gives holds back as soon as the request arrives. */
    record Release(List<String> ids) implements HoldOrder {
        public Release {
            ids = List.copyOf(ids);
        }
    }

    /** Asks for all holds. */
    record Listing() implements HoldOrder {}

    /**
     * Has NIXL keep all blocks of the request for a lease once it has finished, as if a decode server were to fetch
     * them; each order is a lease of its own.
     *
     * @param id by which it is told apart from those of others
     */
    record Lease(String id) implements HoldOrder {}
}
