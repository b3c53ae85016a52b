package io.holdfast.events;

import java.util.List;

/** Payloads as engines, or the serialisation library that engines use, wrote them. */
final class GoldenPayloads {
    /** Cleared, three stores, one removal; written by SGLang's own cache, pages of four. */
    static final String SGLANG_ARRAYS =
            "93cb3ff80000000000009591b0416c6c426c6f636b73436c656172656497ab426c6f636b53746f72656491d3cf97adee"
                    + "db59e05bc0940102030404c0a347505597ab426c6f636b53746f72656491cf4ebfa8a1f3c34151d3cf97adeedb59e05b"
                    + "940506070804c0a347505597ab426c6f636b53746f72656491d3ff3ca9636a47f54fd3cf97adeedb59e05b9409090909"
                    + "04c0a347505593ac426c6f636b52656d6f76656491cf4ebfa8a1f3c34151a347505500";

    /** One salted store: an eighth element with metadata. */
    static final String SGLANG_SALTED_ARRAY =
            "93cb3ff80000000000009198ab426c6f636b53746f72656491cf006feb306a146eedc092010202c0a347505581aa6361"
                    + "6368655f73616c74a874656e616e742d6100";

    /** Cleared, one store of two pages, one removal from the host tier. */
    static final String SGLANG_MAPS =
            "93cb3ff80000000000009381a474797065b0416c6c426c6f636b73436c656172656488a474797065ab426c6f636b5374"
                    + "6f726564ac626c6f636b5f68617368657392d3cf97adeedb59e05bcf4ebfa8a1f3c34151b1706172656e745f626c6f63"
                    + "6b5f68617368c0a9746f6b656e5f696473980102030405060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a6"
                    + "6d656469756da3475055aa73657373696f6e5f6964a2733183a474797065ac426c6f636b52656d6f766564ac626c6f63"
                    + "6b5f68617368657391cf4ebfa8a1f3c34151a66d656469756daa4350555f50494e4e454400";

    /** Store of two blocks, removal of the second, cleared. */
    static final String VLLM_G0 =
            "92cb41d954fc402000009396ab426c6f636b53746f72656492cf948a1fa5e8c9e91fcfd36d02ffac952d33c098000102"
                    + "030405060704c092ac426c6f636b52656d6f76656491cfd36d02ffac952d3391b0416c6c426c6f636b73436c65617265"
                    + "64";

    /** Store of two blocks, removal of the second, cleared. */
    static final String VLLM_G2 =
            "93cb41d954fc402000009398ab426c6f636b53746f72656492cf948a1fa5e8c9e91fcfd36d02ffac952d33c098000102"
                    + "030405060704c0a3475055c093ac426c6f636b52656d6f76656491cfd36d02ffac952d33a347505591b0416c6c426c6f"
                    + "636b73436c656172656400";

    /** Store of two blocks, removal of the second, cleared. */
    static final String VLLM_G5 =
            "93cb41d954fc40200000939cab426c6f636b53746f72656492cf948a1fa5e8c9e91fcfd36d02ffac952d33c098000102"
                    + "030405060704c0a3475055c092c0c000ae66756c6c5f617474656e74696f6ec094ac426c6f636b52656d6f76656491cf"
                    + "d36d02ffac952d33a34750550091b0416c6c426c6f636b73436c656172656400";

    /** Store of two blocks, removal of the second, cleared. */
    static final String VLLM_G6 =
            "93cb41d954fc40200000938ba474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392cf948a1fa5"
                    + "e8c9e91fcfd36d02ffac952d33b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980001020304"
                    + "050607aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65"
                    + "787472615f6b65797392c0c0a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f"
                    + "617474656e74696f6e84a474797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cfd36d02ffac"
                    + "952d33a66d656469756da3475055a967726f75705f6964780081a474797065b0416c6c426c6f636b73436c6561726564"
                    + "00";

    /** Whole digests as byte strings; the parent is the second block. */
    static final String VLLM_BYTE_HASHES =
            "93cb41d954fc40200000919cab426c6f636b53746f72656491c4208d4c7c828f1611f485f1ebfc2b19f0fe1c90d0a71d"
                    + "00cd90948a1fa5e8c9e91fc420ed6fa5d37a067707ede9aff44aa2819ab639263ca4ca66e8d36d02ffac952d33940001"
                    + "020304c0a3475055c091c000ae66756c6c5f617474656e74696f6ec000";

    /** LoRA, an image, a salt and a session; tokens of every integer width. */
    static final String VLLM_G7 =
            "93cb41d954fc40200000918ca474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf948a1fa5"
                    + "e8c9e91fb1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739400cc80cd0100ce00010000aa626c"
                    + "6f636b5f73697a6504a76c6f72615f696401a66d656469756da3475055a96c6f72615f6e616d65a873716c2d6c6f7261"
                    + "aa65787472615f6b6579739193a873716c2d6c6f726192a86d6d68617368303102a874656e616e742d61a967726f7570"
                    + "5f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e74696f6eaa73657373696f6e5f"
                    + "6964a6736573732d3100";

    /** One salted store of a session, by the classes of 0.5.23. */
    static final String SGLANG_SALT_AND_SESSION =
            "93cb3ff80000000000009189a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf006feb30"
                    + "6a146eedb1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473920102aa626c6f636b5f73697a6502"
                    + "a76c6f72615f6964c0a66d656469756da3475055aa63616368655f73616c74a874656e616e742d61aa73657373696f6e"
                    + "5f6964a2733101";

    /** One salted store of a session, by the classes of 0.32.0. */
    static final String VLLM_SALT_AND_SESSION =
            "93cb3ff8000000000000918ca474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf948a1fa5"
                    + "e8c9e91fb1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739400010203aa626c6f636b5f73697a"
                    + "6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0aa65787472615f6b6579739191a874"
                    + "656e616e742d61a967726f75705f69647800b26b765f63616368655f737065635f6b696e64ae66756c6c5f617474656e"
                    + "74696f6eaa73657373696f6e5f6964a6736573732d3100";

    /**
     * Store of two blocks of four tokens from 1 on, removal of the second, cleared; written by msgspec from structs as
     * TensorRT-LLM documents them, with hashes computed by its documented rule. No engine was run.
     */
    static final String TENSORRT_LLM =
            "93cb41d954fc400000009388a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657392d3e4322285"
                    + "22a304abcf756b1d258c63ccc0b1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f696473980102030405"
                    + "060708aa626c6f636b5f73697a6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c083a4"
                    + "74797065ac426c6f636b52656d6f766564ac626c6f636b5f68617368657391cf756b1d258c63ccc0a66d656469756da3"
                    + "47505581a474797065b0416c6c426c6f636b73436c656172656400";

    /** One block of the same tokens with a salt whose number is 7, and an image in it, of rank 2; written likewise. */
    static final String TENSORRT_LLM_SALTED =
            "93cb41d954fc400000009189a474797065ab426c6f636b53746f726564ac626c6f636b5f68617368657391cf7abf874d"
                    + "c011b0eeb1706172656e745f626c6f636b5f68617368c0a9746f6b656e5f6964739401020304aa626c6f636b5f73697a"
                    + "6504a76c6f72615f6964c0a66d656469756da3475055a96c6f72615f6e616d65c0a76d6d5f6b657973919183a4747970"
                    + "65a66d6d5f6b6579a468617368a26162ac73746172745f6f66667365740002";

    static final List<String> ALL = List.of(
            SGLANG_ARRAYS,
            SGLANG_SALTED_ARRAY,
            SGLANG_MAPS,
            VLLM_G0,
            VLLM_G2,
            VLLM_G5,
            VLLM_G6,
            VLLM_G7,
            VLLM_BYTE_HASHES,
            TENSORRT_LLM,
            TENSORRT_LLM_SALTED);

    private GoldenPayloads() {}
}
