package io.holdfast.workbench.load;

import java.util.LinkedHashMap;
import java.util.Map;

/** Somebody who looks at something while a leg runs. */
public interface BesideLeg {
    /** Ends with the leg, and tells what there is to note of it, by name. */
    Map<String, String> ended();

    /** Both of them. */
    default BesideLeg and(BesideLeg other) {
        return () -> {
            Map<String, String> notes = new LinkedHashMap<>(ended());
            notes.putAll(other.ended());
            return notes;
        };
    }

    /** Nobody. */
    static BesideLeg nobody() {
        return Map::of;
    }
}
