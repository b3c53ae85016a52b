package io.holdfast.emulator.kvcached;

import io.holdfast.emulator.process.EmulatorException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.util.Locale;

/** The calls of Linux that a segment needs. A failed one is a {@link Failure} that names it. */
final class Posix {
    static final int NO_SUCH_FILE = 2;
    static final int PERMISSION_DENIED = 13;

    private static final int INTERRUPTED = 4;
    private static final int READ_AND_WRITE = 2;
    private static final int CREATE = 0x40;
    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int FOR_EVERYONE = 0666;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final AddressLayout ADDRESS = ValueLayout.ADDRESS;

    /** Kind of file lock; a lock waits for a process that has another. */
    enum Lock {
        SHARED(1),
        EXCLUSIVE(2);

        private final int operation;

        Lock(int operation) {
            this.operation = operation;
        }
    }

    static final class Failure extends Exception {
        private static final long serialVersionUID = 1L;

        private final int errno;

        private Failure(String call, int errno) {
            super(String.format(Locale.ROOT, "%s failed with error %d", call, errno));
            this.errno = errno;
        }

        int errno() {
            return errno;
        }
    }

    private final Linker linker = Linker.nativeLinker();
    private final MemoryLayout stateLayout = Linker.Option.captureStateLayout();
    private final VarHandle errno = stateLayout.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private final MethodHandle open = variadic("open", FunctionDescriptor.of(INT, ADDRESS, INT, INT), 2);
    private final MethodHandle flock = function("flock", FunctionDescriptor.of(INT, INT, INT));
    private final MethodHandle pread = function("pread", FunctionDescriptor.of(LONG, INT, ADDRESS, LONG, LONG));
    private final MethodHandle pwrite = function("pwrite", FunctionDescriptor.of(LONG, INT, ADDRESS, LONG, LONG));
    private final MethodHandle ftruncate = function("ftruncate", FunctionDescriptor.of(INT, INT, LONG));
    private final MethodHandle close = function("close", FunctionDescriptor.of(INT, INT));
    private final MethodHandle getpgrp = function("getpgrp", FunctionDescriptor.of(INT));

    Posix() {
        if (!System.getProperty("os.name", "").equals("Linux")) {
            throw new EmulatorException("kvcached's memory segments exist on Linux only; leave kvcached off here.");
        }
    }

    int open(Arena arena, String path, boolean create) throws Failure {
        MemorySegment name = arena.allocateFrom(path);
        int flags = READ_AND_WRITE | CLOSE_ON_EXEC | (create ? CREATE : 0);
        return (int) call(arena, "open", state -> (int) open.invokeExact(state, name, flags, FOR_EVERYONE));
    }

    void lock(Arena arena, int file, Lock lock) throws Failure {
        call(arena, "flock", state -> (int) flock.invokeExact(state, file, lock.operation));
    }

    long read(Arena arena, int file, MemorySegment into) throws Failure {
        return call(arena, "pread", state -> (long) pread.invokeExact(state, file, into, into.byteSize(), 0L));
    }

    void write(Arena arena, int file, MemorySegment from) throws Failure {
        call(arena, "pwrite", state -> (long) pwrite.invokeExact(state, file, from, from.byteSize(), 0L));
    }

    void resize(Arena arena, int file, long bytes) throws Failure {
        call(arena, "ftruncate", state -> (int) ftruncate.invokeExact(state, file, bytes));
    }

    /** Releases the lock as well. */
    void close(Arena arena, int file) throws Failure {
        call(arena, "close", state -> (int) close.invokeExact(state, file));
    }

    int processGroup(Arena arena) throws Failure {
        return (int) call(arena, "getpgrp", state -> (int) getpgrp.invokeExact(state));
    }

    private interface Call {
        long with(MemorySegment state) throws Throwable;
    }

    /** Calls again when a signal came between. */
    private long call(Arena arena, String name, Call call) throws Failure {
        MemorySegment state = arena.allocate(stateLayout);
        while (true) {
            long result;
            try {
                result = call.with(state);
            } catch (Throwable e) {
                throw new IllegalStateException("The system call " + name + " cannot be made.", e);
            }
            if (result >= 0) {
                return result;
            }
            int error = (int) errno.get(state, 0L);
            if (error != INTERRUPTED) {
                throw new Failure(name, error);
            }
        }
    }

    private MethodHandle function(String name, FunctionDescriptor type) {
        return variadic(name, type, -1);
    }

    /** @param firstVariadic negative for a function that has none */
    @SuppressWarnings("restricted")
    private MethodHandle variadic(String name, FunctionDescriptor type, int firstVariadic) {
        MemorySegment symbol = linker.defaultLookup()
                .find(name)
                .orElseThrow(() -> new EmulatorException("This system has no call named " + name + "."));
        Linker.Option state = Linker.Option.captureCallState("errno");
        return firstVariadic < 0
                ? linker.downcallHandle(symbol, type, state)
                : linker.downcallHandle(symbol, type, state, Linker.Option.firstVariadicArg(firstVariadic));
    }
}
