package io.holdfast.events;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Numbers in arrays of bytes, as the wire writes them: the highest byte first. */
final class BigEndian {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle SHORTS = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);

    private BigEndian() {}

    static long longAt(byte[] bytes, int at) {
        return (long) LONGS.get(bytes, at);
    }

    static int intAt(byte[] bytes, int at) {
        return (int) INTS.get(bytes, at);
    }

    /** Two bytes as a number without a sign. */
    static int u16At(byte[] bytes, int at) {
        return (short) SHORTS.get(bytes, at) & 0xffff;
    }
}
