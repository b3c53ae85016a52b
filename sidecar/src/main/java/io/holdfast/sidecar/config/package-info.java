/**
 * Configuration: keys, files, variables and command line, read into records and checked.
 *
 * <p>Lives here: the schema, where each value came from, what a key's change needs, and the sentences for values that are not sound.
 * Must not: a call to an engine, a thread, a route.
 */
@NullMarked
package io.holdfast.sidecar.config;

import org.jspecify.annotations.NullMarked;
