/**
 * A guarded HTTP conversation with one engine, the reading of its metrics text, and the tokens that it makes of prompts.
 *
 * <p>Must not: knowledge of any particular engine.
 */
@NullMarked
package io.holdfast.http;

import org.jspecify.annotations.NullMarked;
