package io.holdfast.events;

import io.holdfast.core.index.KvEventSink;
import io.holdfast.events.VllmHashing.Algorithm;
import java.util.Optional;

/** Rule by which one engine names the blocks of a prompt. */
public interface BlockNaming {
    /**
     * The names of the whole blocks of a prompt, root first; any thread.
     *
     * @throws UnknownRule where they cannot be computed, with the reason
     */
    long[] of(int[] tokens, int blockTokens);

    /** Rule in force, for people; absent where there is but one, or while it is not known. */
    default Optional<String> rule() {
        return Optional.empty();
    }

    /**
     * Rule as it is now, which changes no more: equal ones give a prompt equal names.
     *
     * @throws UnknownRule where it is not known, with the reason
     */
    default BlockNaming now() {
        return this;
    }

    /** Hears what the engine stores, where that tells how it names blocks, before {@code next} does. */
    default KvEventSink listening(KvEventSink next) {
        return next;
    }

    /** Returns SGLang's rule. */
    static BlockNaming sglang() {
        return SglangBlockNames.RULE;
    }

    /**
     * Returns a vLLM engine's rule, found out from the first prompt that it announces; for one engine.
     *
     * @param algorithm its {@code --prefix-caching-hash-algo}, where that is known
     * @param seed its {@code PYTHONHASHSEED}, where that is known
     */
    static BlockNaming vllm(String engineId, Optional<Algorithm> algorithm, Optional<String> seed) {
        return new VllmNaming(engineId, algorithm, seed);
    }

    /** Returns the rule of a vLLM engine of which neither is known. */
    static BlockNaming vllm(String engineId) {
        return vllm(engineId, Optional.empty(), Optional.empty());
    }

    /** Returns TensorRT-LLM's rule. */
    static BlockNaming tensorRt() {
        return TensorRtNaming.RULE;
    }

    /** The engine's rule is not known, or not yet; one sentence says why, and what mends it. */
    final class UnknownRule extends IllegalStateException {
        private static final long serialVersionUID = 1;

        private final boolean yet;

        UnknownRule(String sentence, boolean yet) {
            super(sentence);
            this.yet = yet;
        }

        /** Returns true if the engine may still show its rule. */
        public boolean yet() {
            return yet;
        }
    }
}
