package io.holdfast.core.index;

/** Is told of each block that a cache holds. */
@FunctionalInterface
public interface HashVisitor {
    /** {@code tierBits} is the sum of 1 for the GPU, 2 for the host, 4 for disk, 8 for elsewhere. */
    void visit(long engineHash, int tierBits);
}
