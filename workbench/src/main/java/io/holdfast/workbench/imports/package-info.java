/**
 * Result files of whoever measured: ours, those of other load generators, a line of two numbers. Each is recognised by
 * what is in it, and its figures are taken over by their definition, not by their name.
 *
 * <p>Nothing here compares or judges.
 */
@NullMarked
package io.holdfast.workbench.imports;

import org.jspecify.annotations.NullMarked;
