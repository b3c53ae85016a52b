package io.holdfast.rules.sglang;

import io.holdfast.rules.engine.RequestOptions;

/**
 * Separation of prompts with the same tokens: each namespace has a tree of its own.
 *
 * @param extraKey not part of block names: two trees may hold the same names
 * @param salt part of block names
 */
record Namespace(String extraKey, String salt) {
    static final Namespace PLAIN = new Namespace("", "");

    static Namespace of(RequestOptions terms) {
        return new Namespace(terms.extraKey(), terms.salt());
    }

    /** On versions that know no salts in names: one more extra key. */
    static Namespace unsalted(RequestOptions terms) {
        return new Namespace(terms.salt() + terms.extraKey(), "");
    }
}
