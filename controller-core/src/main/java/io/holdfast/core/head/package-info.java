/**
 * Requests that share most of their tokens and no block, because they differ early.
 *
 * <p>Lives here: how the content of prompts is recognised wherever it stands, and what of it is computed again and
 * again. Must not: what an engine's events look like, and any decision about holds; no hold can mend such requests.
 *
 * <p>An embedder reads {@code UnstableHead}.
 */
@NullMarked
package io.holdfast.core.head;

import org.jspecify.annotations.NullMarked;
