package io.holdfast.kvcached;

import java.util.OptionalLong;

/**
 * Bounds of the limits that an engine can have.
 *
 * @param startup the limit that it started with
 * @param bundle what a page takes over all layers; absent while that is not known
 */
record LimitBounds(LimitSettings settings, long startup, OptionalLong bundle) {
    /** The startup limit as one that the engine takes for a limit: a byte more in each layer's keys and values. */
    long restored() {
        return startup + Math.max(1, bundle.orElse(0) / settings.pageBytes());
    }

    /** Whole pages, or all there is. */
    long whole(long bytes) {
        return bytes >= startup ? restored() : down(bytes);
    }

    long down(long bytes) {
        long page = bundle.orElse(1);
        return bytes / page * page;
    }

    long up(long bytes) {
        long page = bundle.orElse(1);
        return (bytes + page - 1) / page * page;
    }

    /** The most by which it moves at once. */
    long step() {
        return Math.max(bundle.orElse(1), (long) (startup * settings.step()));
    }

    /** Bytes that a limit leaves above what is mapped. */
    long margin() {
        return Math.max(1, settings.marginPages()) * bundle.orElse(0);
    }

    /** The least that may be requested now; absent while it is not known what the largest request needs. */
    OptionalLong lowest(EngineLoad load, long mapped) {
        boolean told = load.capacityTokens().orElse(0) > 0
                && load.largestRequestTokens().isPresent();
        if (!told || bundle.isEmpty()) {
            return OptionalLong.empty();
        }
        double share = load.largestRequestTokens().getAsDouble()
                / load.capacityTokens().getAsDouble();
        // A page more, for the block that is never used.
        long request = up((long) Math.ceil(startup * Math.min(1, share))) + bundle.getAsLong();
        return OptionalLong.of(Math.max(Math.max(request, up(settings.floorBytes())), up(mapped + margin())));
    }
}
