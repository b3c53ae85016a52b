package io.holdfast.core;

/**
 * What a backend can do on the engine that it was probed on.
 *
 * @param canPin whether a pin would do anything there
 * @param forgetsByItself whether a pin ends without an unpin (a lease in the engine); where not, the ledger is mandatory
 * @param hard whether a pin takes memory from the engine for good, so that the hard guard applies
 * @param why one sentence: what was asked, what the engine said, and what would change it
 */
public record Capabilities(boolean canPin, boolean forgetsByItself, boolean hard, String why) {}
