package io.holdfast.workbench.preset;

/** How much of a prompt a prefix cache had. */
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
