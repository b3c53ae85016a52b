package io.holdfast.emulator.api;

import io.vertx.core.json.JsonArray;

/** Tokens as JSON. */
public final class Tokens {
    private Tokens() {}

    public static JsonArray json(int[] tokens) {
        JsonArray all = new JsonArray();
        for (int token : tokens) {
            all.add(token);
        }
        return all;
    }
}
