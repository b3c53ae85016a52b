package io.holdfast.loadtest.analysis;

import io.holdfast.evidence.Estimate;

/**
 * The judged number of a leg's first flood and its probes apart from that of all later ones.
 *
 * @param first what the first cycle of a leg shows
 * @param steady what the cycles after it show
 */
public record Waves(Estimate first, Estimate steady) {}
