package io.holdfast.sidecar.config;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Optional;

/** Form in which a prefix is asked for. */
@SuppressWarnings("ArrayRecordComponent") // two are never compared
public sealed interface PrefixSource {
    /** No prefix is longer. */
    int MOST_TOKENS = 1 << 20;

    /** The engine's token ids, from the first on. */
    record Tokens(int[] ids) implements PrefixSource {}

    /** The engine's hashes of its blocks, root first. */
    record Hashes(long[] blocks) implements PrefixSource {}

    /** A text that prompts of completions begin with. */
    record Text(String text) implements PrefixSource {}

    /** One of the prefixes that an example saw. */
    record Example(long example, int prefix) implements PrefixSource {}

    /** Beginning of conversations. */
    record Messages(ArrayNode messages, Optional<ArrayNode> tools) implements PrefixSource {}
}
