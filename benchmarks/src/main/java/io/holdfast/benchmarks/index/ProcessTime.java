package io.holdfast.benchmarks.index;

import com.sun.management.OperatingSystemMXBean;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.management.ManagementFactory;
import java.util.Optional;

/**
 * Processor time of this process.
 *
 * <p>The JVM's own figure moves in steps of 10 ms, which is a fifth of what a pass over all queries takes; so on Linux the
 * clock is asked itself.
 */
final class ProcessTime {
    private static final int LINUX_CLOCK_PROCESS_CPUTIME_ID = 2;
    private static final long NANOS_PER_SECOND = 1_000_000_000;

    private final OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private final Optional<MethodHandle> clock;
    private final MemorySegment answer = Arena.ofAuto().allocate(ValueLayout.JAVA_LONG, 2);

    @SuppressWarnings("restricted")
    ProcessTime() {
        Linker linker = Linker.nativeLinker();
        clock = Optional.of(System.getProperty("os.name", ""))
                .filter(name -> name.equals("Linux"))
                .flatMap(name -> linker.defaultLookup().find("clock_gettime"))
                .map(symbol -> linker.downcallHandle(
                        symbol,
                        FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.ADDRESS)));
    }

    /** For one thread at a time. */
    long nanos() {
        return clock.isPresent() && asked(clock.get())
                ? answer.getAtIndex(ValueLayout.JAVA_LONG, 0) * NANOS_PER_SECOND
                        + answer.getAtIndex(ValueLayout.JAVA_LONG, 1)
                : system.getProcessCpuTime();
    }

    private boolean asked(MethodHandle handle) {
        try {
            return (int) handle.invokeExact(LINUX_CLOCK_PROCESS_CPUTIME_ID, answer) == 0;
        } catch (Throwable e) {
            throw new IllegalStateException("The processor clock cannot be asked.", e);
        }
    }
}
