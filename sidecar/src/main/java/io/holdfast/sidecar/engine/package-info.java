/**
 * One engine as the sidecar follows it: family, backends, events, holds that last, snapshots, limits, emergency release.
 *
 * <p>Lives here: {@code EngineLink}, which joins the controller of the core to one engine. Must not: JSON of the API and routes, which
 * are {@code view}'s and {@code http}'s; deciding what to hold, which is the core's.
 */
@NullMarked
package io.holdfast.sidecar.engine;

import org.jspecify.annotations.NullMarked;
