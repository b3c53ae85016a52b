package io.holdfast.embed.cell;

import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Store of which a member reaches one half or the other. */
record DividedStore(Supplier<FleetStore> reached) implements FleetStore {
    @Override
    public CompletionStage<Void> put(Key key, byte[] value, Duration ttl) {
        return reached.get().put(key, value, ttl);
    }

    @Override
    public CompletionStage<Optional<byte[]>> get(Key key) {
        return reached.get().get(key);
    }

    @Override
    public CompletionStage<Map<String, byte[]>> list(String cell, String kind, int most) {
        return reached.get().list(cell, kind, most);
    }

    @Override
    public CompletionStage<Void> add(Key window, Map<Long, Double> amounts, Duration ttl) {
        return reached.get().add(window, amounts, ttl);
    }

    @Override
    public CompletionStage<SequencedMap<Long, Double>> top(Key window, int most) {
        return reached.get().top(window, most);
    }

    @Override
    public CompletionStage<Boolean> acquire(Key key, String owner, Duration ttl) {
        return reached.get().acquire(key, owner, ttl);
    }

    @Override
    public CompletionStage<Boolean> renew(Key key, String owner, Duration ttl) {
        return reached.get().renew(key, owner, ttl);
    }

    @Override
    public String said() {
        return reached.get().said();
    }

    @Override
    public void close() {}
}
