package io.holdfast.emulator.api;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The rule of an object: its fields in the order in which they are looked at. Other fields are kept as they are. */
final class Fields implements Rule {
    private static final String NO_OBJECT = "Input should be a valid dictionary or object to extract fields from";

    private record Field(String name, Rule rule, boolean required) {}

    private final String label;
    private final List<Field> fields = new ArrayList<>();

    Fields(String label) {
        this.label = label;
    }

    Fields required(String name, Rule rule) {
        fields.add(new Field(name, rule, true));
        return this;
    }

    /** A field that may be absent, but not null. */
    Fields optional(String name, Rule rule) {
        fields.add(new Field(name, rule, false));
        return this;
    }

    /** A field that may be absent or null. */
    Fields nullable(String name, Rule rule) {
        return optional(name, rule.orNull());
    }

    @Override
    public String label() {
        return label;
    }

    @Override
    public Optional<Json> read(Json value, List<Object> place, List<Complaint> complaints) {
        if (!(value instanceof Json.Obj given)) {
            complaints.add(Complaint.of("model_attributes_type", place, NO_OBJECT, value));
            return Optional.empty();
        }
        int before = complaints.size();
        Map<String, Json> read = new LinkedHashMap<>(given.fields());
        for (Field field : fields) {
            Optional<Json> one = given.get(field.name());
            List<Object> below = Complaint.below(place, field.name());
            if (one.isPresent()) {
                field.rule().read(one.get(), below, complaints).ifPresent(fine -> read.put(field.name(), fine));
            } else if (field.required()) {
                complaints.add(Complaint.of("missing", below, "Field required", value));
            }
        }
        return complaints.size() == before ? Optional.of(new Json.Obj(read)) : Optional.empty();
    }
}
