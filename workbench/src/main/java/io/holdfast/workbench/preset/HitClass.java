package io.holdfast.workbench.preset;

/** Extent to which a prefix cache had a prompt. */
enum HitClass {
    MISS,
    PARTIAL,
    /** All but what is computed anyway: an engine computes at least the last token, and its page with it. */
    FULL;

    static HitClass of(int prompt, int cached, int page) {
        if (cached <= 0) {
            return MISS;
        }
        return cached >= prompt - page ? FULL : PARTIAL;
    }
}
