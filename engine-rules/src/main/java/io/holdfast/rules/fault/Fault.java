package io.holdfast.rules.fault;

/**
 * Something that real servers do to benchmarks and to controllers, and that an emulated one does on request. The kinds are
 * grouped by the room that acts on them.
 */
public sealed interface Fault permits GpuFault, CacheFault, HttpFault, EventFault, ServerFault {
    /** Returns what is known of all faults of its kind. */
    default FaultKind kind() {
        return FaultCatalogue.kind(getClass());
    }

    /**
     * Reads {@code NAME[=ARGUMENT,…]}, as {@link FaultCatalogue} lists it.
     *
     * @throws IllegalArgumentException for anything else, with one sentence that says what is wanted
     */
    static Fault parse(String text) {
        return FaultCatalogue.parse(text);
    }
}
