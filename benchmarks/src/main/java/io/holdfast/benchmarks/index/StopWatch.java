package io.holdfast.benchmarks.index;

/** Time since its start: on the wall, and of all processors for all threads of this process, the JVM's own included. */
final class StopWatch {
    private static final double NANOS_PER_SECOND = 1e9;

    private final ProcessTime process;
    private final long cpuStart;
    private final long wallStart;

    private StopWatch(ProcessTime process) {
        this.process = process;
        cpuStart = process.nanos();
        wallStart = System.nanoTime();
    }

    static StopWatch start(ProcessTime process) {
        return new StopWatch(process);
    }

    /** Stops it. */
    Span stop() {
        long wall = System.nanoTime() - wallStart;
        long cpu = process.nanos() - cpuStart;
        return new Span(wall / NANOS_PER_SECOND, cpu / NANOS_PER_SECOND);
    }

    /** Seconds. */
    record Span(double wall, double cpu) {}
}
