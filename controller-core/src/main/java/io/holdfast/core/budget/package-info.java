/**
 * Number of tokens that may be pinned now.
 *
 * <p>Lives here: the bounds and their arithmetic, and what is learned beside an engine to compute them: sizes of
 * prompts, pins of somebody else, stalls, how much ran. Must not: which prefix gets the room.
 *
 * <p>An embedder uses {@code BudgetSettings} and {@code RequestSizes}, and reads {@code Budget}.
 */
@NullMarked
package io.holdfast.core.budget;

import org.jspecify.annotations.NullMarked;
