package io.holdfast.emulator.api;

import io.vertx.core.json.JsonObject;

/** JSON shapes of what an engine tells, from a resource: the fields in its order, with the values that never change. */
public final class Shapes {
    private final JsonObject shapes;

    /** @param beside a class whose package has the resource */
    public Shapes(Class<?> beside, String file) {
        shapes = new JsonObject(Resources.text(beside, file));
    }

    /** Returns a shape to be filled in. */
    public JsonObject of(String name) {
        return shapes.getJsonObject(name).copy();
    }
}
