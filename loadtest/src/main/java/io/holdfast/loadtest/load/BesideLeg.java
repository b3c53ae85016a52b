package io.holdfast.loadtest.load;

import java.util.Map;

/** Somebody who looks at something while a leg runs. */
public interface BesideLeg {
    /** Ends with the leg, and tells what there is to note of it, by name. */
    Map<String, String> ended();

    /** Nobody. */
    static BesideLeg nobody() {
        return Map::of;
    }
}
