/**
 * What is wished to be kept and why: requests for holds and the register of those that live.
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
