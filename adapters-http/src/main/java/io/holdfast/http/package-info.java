/**
 * A guarded HTTP conversation with one engine, and the reading of its metrics text.
 *
 * <p>Must not: knowledge of any particular engine.
 */
@NullMarked
package io.holdfast.http;

import org.jspecify.annotations.NullMarked;
