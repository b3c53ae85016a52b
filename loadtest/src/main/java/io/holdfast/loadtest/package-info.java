/**
 * The load test that validates decisions with controls: workload, client, leg protocol, journal, analysis.
 *
 * <p>Knows engines and the sidecar through HTTP alone. What the measured legs allow us to say is decided in {@code
 * io.holdfast.evidence}; the command line that starts a run lives elsewhere.
 */
@NullMarked
package io.holdfast.loadtest;

import org.jspecify.annotations.NullMarked;
