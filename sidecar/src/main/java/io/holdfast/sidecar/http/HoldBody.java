package io.holdfast.sidecar.http;

import static io.holdfast.sidecar.config.ApiError.badRequest;
import static io.holdfast.sidecar.config.ConfigException.shown;

import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.time.Duration;
import java.util.Optional;

/** The body of a request for a hold: which prefix, how long, how urgently and for whom. */
final class HoldBody implements HttpApi.PrefixBody {
    static final Duration LONGEST_LEASE = Duration.ofHours(24);

    private final PrefixSource source;
    private final Lease lease;
    private final int weight;
    private final boolean measure;
    private final Optional<String> requester;

    private HoldBody(PrefixSource source, Lease lease, int weight, boolean measure, Optional<String> requester) {
        this.source = source;
        this.lease = lease;
        this.weight = weight;
        this.measure = measure;
        this.requester = requester;
    }

    @Override
    public PrefixSource source() {
        return source;
    }

    @Override
    public Lease lease() {
        return lease;
    }

    /** The wish without its prefix, which is not known yet. */
    HoldRequest wish() {
        return asked(new HoldRequest(new long[] {0}, lease));
    }

    /** Returns the same wish for another requester. */
    HoldRequest asked(HoldRequest prefix) {
        HoldRequest weighed = measure ? prefix.withWeight(weight).toBeMeasured() : prefix.withWeight(weight);
        return requester.map(weighed::by).orElse(weighed);
    }

    /**
     * Refuses with {@link ApiError} what is not exactly such a body.
     *
     * @param mostBlocks more hashes than that are not even read
     */
    static HoldBody parse(byte[] bytes, int mostBlocks) {
        PrefixFields prefix = new PrefixFields(mostBlocks);
        LeaseFields lease = new LeaseFields();
        PrefixFields.each(bytes, "{\"tokens\":[1,2,3],\"leaseSeconds\":60}", (field, json) -> {
            if (!prefix.take(field, json) && !lease.take(field, json)) {
                throw badRequest("The field " + shown(field) + " is unknown; a hold has " + PrefixFields.WAYS
                        + ", leaseSeconds, and perhaps refreshOnHit, atMostSeconds, weight, measure and requester.");
            }
        });
        PrefixSource source = prefix.source();
        return new HoldBody(source, lease.lease(), lease.weight(), lease.measure(), lease.requester());
    }
}
