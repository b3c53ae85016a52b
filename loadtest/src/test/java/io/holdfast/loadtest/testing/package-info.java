/**
 * An engine, a holder and legs made up for the tests of more than one package.
 */
@NullMarked
package io.holdfast.loadtest.testing;

import org.jspecify.annotations.NullMarked;
