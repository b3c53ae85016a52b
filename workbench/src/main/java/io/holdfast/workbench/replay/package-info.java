/**
 * Replays of requests that were made, to see what a policy would have found in a cache.
 *
 * <p>Lives here: traces and their forms, caches in process, the policies. Must not: sockets, clocks; a replay takes its
 * time from the trace and comes out the same each time.
 */
@NullMarked
package io.holdfast.workbench.replay;

import org.jspecify.annotations.NullMarked;
