package io.holdfast.kvcached;

import java.io.IOException;
import java.lang.foreign.AddressLayout;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.VarHandle;
import java.nio.file.Path;

/**
 * The calls of Linux that a write to a segment needs, since Java's own file locks do not exclude flock(2).
 *
 * <p>One thread at a time. What is called while the lock is held allocates nothing: an engine waits for it.
 */
final class Posix {
    private static final int READ_AND_WRITE = 2;
    private static final int CLOSE_ON_EXEC = 0x80000;
    private static final int EXCLUSIVE_OR_NOT_AT_ALL = 2 | 4;
    private static final int END = 2;
    private static final int INTERRUPTED = 4;
    private static final int WOULD_BLOCK = 11;

    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG;
    private static final AddressLayout ADDRESS = ValueLayout.ADDRESS;

    private final Linker linker = Linker.nativeLinker();
    private final MemoryLayout stateLayout = Linker.Option.captureStateLayout();
    private final VarHandle errno = stateLayout.varHandle(MemoryLayout.PathElement.groupElement("errno"));
    private final MemorySegment state = Arena.ofAuto().allocate(stateLayout);
    private final MethodHandle open = function("open", FunctionDescriptor.of(INT, ADDRESS, INT));
    private final MethodHandle flock = function("flock", FunctionDescriptor.of(INT, INT, INT));
    private final MethodHandle lseek = function("lseek", FunctionDescriptor.of(LONG, INT, LONG, INT));
    private final MethodHandle pread = function("pread", FunctionDescriptor.of(LONG, INT, ADDRESS, LONG, LONG));
    private final MethodHandle pwrite = function("pwrite", FunctionDescriptor.of(LONG, INT, ADDRESS, LONG, LONG));
    private final MethodHandle close = function("close", FunctionDescriptor.of(INT, INT));

    /** A file to read and write, which is never created. */
    int open(Path file) throws IOException {
        try (Arena arena = Arena.ofConfined()) {
            return (int) done("open", (int)
                    open.invokeExact(state, arena.allocateFrom(file.toString()), READ_AND_WRITE | CLOSE_ON_EXEC));
        } catch (Throwable e) {
            throw failure("open", e);
        }
    }

    long size(int file) throws IOException {
        try {
            return done("lseek", (long) lseek.invokeExact(state, file, 0L, END));
        } catch (Throwable e) {
            throw failure("lseek", e);
        }
    }

    /** Takes the writers' lock, unless another process has it. */
    boolean tryLock(int file) throws IOException {
        try {
            int result = (int) flock.invokeExact(state, file, EXCLUSIVE_OR_NOT_AT_ALL);
            return result == 0 || (!busy() && done("flock", result) == 0);
        } catch (Throwable e) {
            throw failure("flock", e);
        }
    }

    /** Reads from the beginning of the file; returns true if that many bytes were there. */
    boolean read(int file, MemorySegment into) throws IOException {
        try {
            return done("pread", (long) pread.invokeExact(state, file, into, into.byteSize(), 0L)) == into.byteSize();
        } catch (Throwable e) {
            throw failure("pread", e);
        }
    }

    /** Writes to the beginning of the file. */
    void write(int file, MemorySegment from) throws IOException {
        try {
            done("pwrite", (long) pwrite.invokeExact(state, file, from, from.byteSize(), 0L));
        } catch (Throwable e) {
            throw failure("pwrite", e);
        }
    }

    /** Releases the lock as well. */
    void close(int file) throws IOException {
        try {
            done("close", (int) close.invokeExact(state, file));
        } catch (Throwable e) {
            throw failure("close", e);
        }
    }

    private boolean busy() {
        int error = (int) errno.get(state, 0L);
        return error == WOULD_BLOCK || error == INTERRUPTED;
    }

    private long done(String call, long result) throws IOException {
        if (result < 0) {
            throw new IOException(call + " failed with error " + (int) errno.get(state, 0L));
        }
        return result;
    }

    private static IOException failure(String call, Throwable cause) {
        return cause instanceof IOException failed
                ? failed
                : new IOException("The system call " + call + " cannot be made.", cause);
    }

    /** {@code open} is variadic only for the mode of a file that it creates. */
    @SuppressWarnings("restricted")
    private MethodHandle function(String name, FunctionDescriptor type) {
        MemorySegment symbol = linker.defaultLookup()
                .find(name)
                .orElseThrow(() -> new UnsupportedOperationException("This system has no call named " + name + "."));
        Linker.Option captured = Linker.Option.captureCallState("errno");
        return name.equals("open")
                ? linker.downcallHandle(symbol, type, captured, Linker.Option.firstVariadicArg(2))
                : linker.downcallHandle(symbol, type, captured);
    }
}
