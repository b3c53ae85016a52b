/**
 * What tests of engines share, in this module and in those on top of it: recordings of real engines and a listener.
 *
 * <p>Must not: test anything.
 */
@NullMarked
package io.holdfast.rules.testing;

import org.jspecify.annotations.NullMarked;
