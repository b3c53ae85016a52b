package io.holdfast.benchmarks.index;

import io.holdfast.core.hash.ContentNames;
import java.util.Arrays;

/** The blocks of a prompt from its beginning: of each the hash of its own tokens and its name on the content chain. */
final class PromptPath {
    private long[] locals = new long[64];
    private long[] names = new long[64];
    private int blocks;

    /** Returns a copy, to be continued apart. */
    PromptPath copy() {
        PromptPath copy = new PromptPath();
        copy.locals = locals.clone();
        copy.names = names.clone();
        copy.blocks = blocks;
        return copy;
    }

    /** Appends a block; the same number is the same tokens. */
    void add(long content) {
        if (blocks == names.length) {
            locals = Arrays.copyOf(locals, blocks * 2);
            names = Arrays.copyOf(names, blocks * 2);
        }
        long local = Math.max(1, Mix.of(content) >>> 1);
        locals[blocks] = local;
        names[blocks] = blocks == 0
                ? ContentNames.root(local, ContentNames.NO_NAMESPACE)
                : ContentNames.next(names[blocks - 1], local);
        blocks++;
    }

    int blocks() {
        return blocks;
    }

    long local(int block) {
        return locals[block];
    }

    long name(int block) {
        return names[block];
    }
}
