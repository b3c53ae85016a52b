/**
 * One load without arms: a recipe of phases as data, the requests drawn from it, one leg of them against a server, and
 * a suite of such legs in a folder that can be gone on with.
 *
 * <p>Nothing here holds a prefix or gives a verdict: a leg has measures, and what two of them show beside each other is
 * the comparison's. Experiments with arms are in {@code run}.
 */
@NullMarked
package io.holdfast.workbench.load;

import org.jspecify.annotations.NullMarked;
