package io.holdfast.events;

import java.util.List;

/**
 * Values that a vLLM block's hash covers beside its parent and its tokens; an empty text is no value.
 *
 * @param lora the adapter's name; in every block of its prompt
 * @param items what of other media touches the block, in the prompt's order
 * @param salt the salt of the prompt; in its first block only
 */
public record VllmExtras(String lora, List<Item> items, String salt) {
    /** Nothing but tokens. */
    public static final VllmExtras NONE = new VllmExtras("", List.of(), "");

    public VllmExtras {
        items = List.copyOf(items);
    }

    /** The first block of a prompt with a salt. */
    public static VllmExtras salted(String salt) {
        return new VllmExtras("", List.of(), salt);
    }

    boolean isEmpty() {
        return lora.isEmpty() && items.isEmpty() && salt.isEmpty();
    }

    /**
     * An image, a sound or the like, and where it begins, counted from the block's first token: negative in later
     * blocks.
     */
    public record Item(String identifier, int offset) {}
}
