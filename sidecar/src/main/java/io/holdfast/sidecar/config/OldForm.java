package io.holdfast.sidecar.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Form of configuration files before engines, devices and holds stood under their names: lists of mappings that had
 * the name as {@code id} or {@code name}, and in a file that discovery finds one engine or a list of them.
 */
final class OldForm {
    private OldForm() {}

    /**
     * Refuses a tree in the old form.
     *
     * @throws ConfigException that names the command which prints the new form
     */
    static void refuse(JsonNode tree, String file) {
        if (!renewed(tree).equals(tree)) {
            throw new ConfigException(
                    "",
                    "is in the form of earlier versions, which listed engines, devices and holds; 'holdfast sidecar"
                            + " --print-config --from-old " + file + "' prints it with each under its name");
        }
    }

    /** Returns a tree of either form in the new one; a list without names, or with one twice, stays as it is. */
    static JsonNode renewed(JsonNode tree) {
        ConfigKey engines = Section.ROOT.find("engines").orElseThrow();
        return tree.path("id").isTextual()
                ? byName(JsonNodeFactory.instance.arrayNode().add(tree), engines)
                : tree.isArray() ? byName(tree, engines) : section(tree, Section.ROOT);
    }

    private static JsonNode section(JsonNode written, Section section) {
        JsonNode tree = written.deepCopy();
        if (tree instanceof ObjectNode mapping) {
            section.keys().stream()
                    .filter(key -> key.inner().isPresent() && mapping.has(key.name()))
                    .forEach(key -> {
                        JsonNode value = mapping.path(key.name());
                        mapping.set(
                                key.name(),
                                key.isByName()
                                        ? byName(value, key)
                                        : section(value, key.inner().orElseThrow()));
                    });
        }
        return tree;
    }

    private static JsonNode byName(JsonNode written, ConfigKey key) {
        Section inner = key.inner().orElseThrow();
        ObjectNode all = JsonNodeFactory.instance.objectNode();
        if (written.isArray()) {
            for (JsonNode each : written) {
                String name = each.has("id") ? "id" : "name";
                if (!each.path(name).isTextual() || all.has(each.path(name).textValue())) {
                    return written;
                }
                ObjectNode element = each.deepCopy();
                element.remove(name);
                all.set(each.path(name).textValue(), section(element, inner));
            }
            return all;
        }
        written.properties().forEach(each -> all.set(each.getKey(), section(each.getValue(), inner)));
        return written.isObject() ? all : written;
    }
}
