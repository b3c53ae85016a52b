/**
 * State of engines as people and programs read it: JSON documents, overview, metrics, decisions.
 *
 * <p>Must not: a change of state, a route.
 */
@NullMarked
package io.holdfast.sidecar.view;

import org.jspecify.annotations.NullMarked;
