package io.holdfast.rules.vllm;

import io.holdfast.core.hash.Xxh3;
import io.holdfast.events.TensorRtBlockNames;
import io.holdfast.events.VllmBlockNames;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/** Chain of digests by which an engine names its blocks; confined to one thread. */
interface BlockNamer {
    /** Digest in front of the first block. */
    byte[] root();

    /** Digest of the next block; {@code salt} is that of the prompt for a first block that has one, else empty. */
    byte[] next(byte[] before, int[] tokens, int from, int count, String salt);

    /** Name that an event gives to the block of a digest. */
    long name(byte[] digest);

    static BlockNamer of(VllmSettings settings) {
        return switch (settings.release()) {
            case V0_32, V0_22 -> new Vllm(new VllmBlockNames(settings.hashing()));
            case TENSORRT_LLM -> new TensorRt();
        };
    }

    record Vllm(VllmBlockNames names) implements BlockNamer {
        @Override
        public byte[] root() {
            return names.root();
        }

        @Override
        public byte[] next(byte[] before, int[] tokens, int from, int count, String salt) {
            return names.next(before, tokens, from, count, salt);
        }

        @Override
        public long name(byte[] digest) {
            return VllmBlockNames.name(digest);
        }
    }

    record TensorRt() implements BlockNamer {
        @Override
        public byte[] root() {
            return TensorRtBlockNames.root(OptionalLong.empty());
        }

        @Override
        public byte[] next(byte[] before, int[] tokens, int from, int count, String salt) {
            return TensorRtBlockNames.next(
                    salt.isEmpty() ? before : TensorRtBlockNames.root(OptionalLong.of(number(salt))),
                    tokens,
                    from,
                    count);
        }

        @Override
        public long name(byte[] digest) {
            return TensorRtBlockNames.name(digest);
        }

        /** Stands in for the engine's BLAKE3, which Java lacks; nobody outside computes with the number. */
        private static long number(String salt) {
            byte[] text = salt.getBytes(StandardCharsets.UTF_8);
            return Xxh3.seeded(0).hash64(text, 0, text.length);
        }
    }
}
