/**
 * What tests of engines share, in this module and in those on top of it: recordings of real engines, a listener, and a
 * headless browser for whoever has a page to show.
 *
 * <p>Must not: test anything.
 */
@NullMarked
package io.holdfast.rules.testing;

import org.jspecify.annotations.NullMarked;
