package io.holdfast.emulator;

import java.util.List;
import java.util.OptionalLong;

/** What the cache did, as its event stream will tell it. */
sealed interface CacheEvent {
    /** A chain of blocks entered the tree, the first under the parent, or under the root when there is none. */
    record Stored(OptionalLong parent, List<Long> blocks, List<Integer> tokens) implements CacheEvent {}

    record Removed(List<Long> blocks) implements CacheEvent {}

    record Cleared() implements CacheEvent {}
}
