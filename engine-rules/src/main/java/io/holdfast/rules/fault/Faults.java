package io.holdfast.rules.fault;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The faults of one server, which come and go while it serves: look a fault up each time. Thread-safe. */
public final class Faults {
    private volatile List<Fault> current;

    public Faults(List<Fault> initial) {
        current = List.copyOf(initial);
    }

    public static Faults none() {
        return new Faults(List.of());
    }

    public List<Fault> all() {
        return current;
    }

    /** Faults of a group, in the order in which they began. */
    public <F extends Fault> List<F> all(Class<F> group) {
        return current.stream().filter(group::isInstance).map(group::cast).toList();
    }

    public boolean has(Class<? extends Fault> kind) {
        return find(kind).isPresent();
    }

    /** The first fault of the kind. */
    public <F extends Fault> Optional<F> find(Class<F> kind) {
        for (Fault fault : current) {
            if (kind.isInstance(fault)) {
                return Optional.of(kind.cast(fault));
            }
        }
        return Optional.empty();
    }

    /** Begins a fault, in place of another of its kind. */
    public synchronized void begin(Fault fault) {
        List<Fault> next = new ArrayList<>(current);
        next.removeIf(other -> other.kind().equals(fault.kind()));
        next.add(fault);
        current = List.copyOf(next);
    }

    public synchronized void end(FaultKind kind) {
        current = current.stream().filter(fault -> !fault.kind().equals(kind)).toList();
    }
}
