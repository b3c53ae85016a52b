package io.holdfast.workbench.preset;

import java.util.List;

/** Presets by name. */
public final class Presets {
    /** In the order in which a reader meets them. */
    private static final List<String> NAMES = List.of(
            "probe-flood-probe",
            "pin-poc",
            "serving",
            "radix",
            KvcachedOverhead.NAME,
            SeveralModels.BENEFIT,
            SeveralModels.CAPACITY,
            "baseline-story",
            "simple",
            "accuracy",
            "negative",
            "cache-matrix",
            "staggered",
            "server-compare");

    private Presets() {}

    /** Returns the presets in the order in which a reader meets them. */
    public static List<Definition> all() {
        return NAMES.stream().map(Definition::of).toList();
    }

    /** Returns the definition of the preset with one of these names. */
    public static Definition named(String name) {
        return Definition.of(name);
    }

    /** Makes a preset whose legs are sent to one server. */
    public static Preset of(Values values) {
        return switch (values.definition().name()) {
            case "serving" -> new Serving(values);
            case "radix" -> new Radix(values);
            case KvcachedOverhead.NAME -> new KvcachedOverhead(values);
            case "baseline-story" -> new FixedLoads(values, (load, leg) -> FixedLoads.story(leg));
            case "simple" -> new FixedLoads(values, (load, leg) -> FixedLoads.simply(leg));
            case "negative" -> new FixedLoads(values, FixedLoads::idle);
            // A preset of loads alone needs its file and its name here.
            default -> new FixedLoads(values, FixedLoads::flagged);
        };
    }
}
