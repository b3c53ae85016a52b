/**
 * Requests to keep prefixes, and why, and the register of the holds that live.
 *
 * <p>Lives here: a hold, its states, its lease, who waits to hear of it. Must not: whether it may be pinned and what an
 * engine made of that.
 *
 * <p>An embedder uses {@code HoldRequest}, {@code HoldView} with {@code HoldState} and {@code HoldOrigin}, and
 * {@code Released}.
 */
@NullMarked
package io.holdfast.core.hold;

import org.jspecify.annotations.NullMarked;
