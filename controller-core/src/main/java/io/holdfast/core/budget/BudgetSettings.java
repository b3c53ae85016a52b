package io.holdfast.core.budget;

import java.util.Optional;

/**
 * The operator's decisions on how much may be pinned.
 *
 * @param share the largest part of the cache that automatic holds may take, above 0 and at most 1
 * @param written sizes of requests that the operator vouches for; absent: the hard guard keeps room for whatever the
 *     engine accepts
 * @param contextFlag the engine's own flag that makes the largest request smaller
 */
public record BudgetSettings(double share, Optional<RequestSizes> written, String contextFlag) {
    public BudgetSettings {
        if (!(share > 0 && share <= 1)) {
            throw new IllegalArgumentException("The share must be above 0 and at most 1, it is " + share + ".");
        }
    }

    /** Half of the cache for automatic holds, and room for the largest request that the engine accepts. */
    public static BudgetSettings defaults() {
        return new BudgetSettings(0.5, Optional.empty(), "--context-length");
    }
}
