package io.holdfast.sidecar.config;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Effect of a reload.
 *
 * @param added ids of engines that are followed from now on
 * @param removed ids of engines that are followed no more
 * @param changed by the engine's id: the keys that it goes by anew
 * @param anew of those, the engines that were let go of and are followed anew
 * @param problems sentences about what could not be done as it was written
 */
public record ReloadReport(
        List<String> added,
        List<String> removed,
        Map<String, List<String>> changed,
        List<String> anew,
        List<String> problems) {
    public ReloadReport {
        added = List.copyOf(added);
        removed = List.copyOf(removed);
        changed = new TreeMap<>(changed);
        anew = List.copyOf(anew);
        problems = List.copyOf(problems);
    }

    /** One sentence for a log. */
    public String sentence() {
        List<String> parts = new ArrayList<>();
        if (!added.isEmpty()) {
            parts.add("added " + String.join(", ", added));
        }
        if (!removed.isEmpty()) {
            parts.add("removed " + String.join(", ", removed));
        }
        changed.forEach((id, keys) -> parts.add(
                "changed " + id + " (" + String.join(", ", keys) + (anew.contains(id) ? "; followed anew" : "") + ")"));
        parts.addAll(problems);
        return "Reloaded: " + (parts.isEmpty() ? "nothing has changed" : String.join("; ", parts)) + ".";
    }

    public JsonObject json() {
        JsonObject keys = new JsonObject();
        changed.forEach((id, names) -> keys.put(id, new JsonArray(names)));
        return new JsonObject()
                .put("added", new JsonArray(added))
                .put("removed", new JsonArray(removed))
                .put("changed", keys)
                .put("followedAnew", new JsonArray(anew))
                .put("problems", new JsonArray(problems));
    }
}
