package io.holdfast.loadtest.trace;

/** Lines of which each is a request, which a trace is made of as they come. */
abstract class BuiltLines implements TraceLines {
    final Trace.Builder builder;

    BuiltLines(Trace.Builder builder) {
        this.builder = builder;
    }

    @Override
    public final int requests() {
        return builder.requests();
    }

    @Override
    public final Trace trace() {
        return builder.build();
    }
}
