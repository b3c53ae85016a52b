package io.holdfast.evidence;

import java.util.List;

/**
 * Measurements of one window.
 *
 * @param position the window's number; windows that were not measured leave holes
 * @param on whether what is studied was on in it
 * @param value what is compared, such as the logarithm of a mean
 * @param covariates what else may have moved it, the same things in the same order in every window
 */
public record WindowValue(long position, boolean on, double value, List<Double> covariates) {
    public WindowValue {
        Finite.value("a window's value", value);
        covariates.forEach(covariate -> Finite.value("a window's covariate", covariate));
        covariates = List.copyOf(covariates);
    }
}
