package io.holdfast.benchmarks.index;

/** The finaliser of splitmix64: a bijection that spreads every bit over all others. */
final class Mix {
    private Mix() {}

    static long of(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return mixed ^ (mixed >>> 31);
    }
}
