package io.holdfast.benchmarks;

/** The index under test, and what it is compared with. */
public enum IndexKind {
    TREE,
    MAP;

    PrefixIndex create() {
        return this == TREE ? new EngineBlocksIndex() : new MapIndex();
    }
}
