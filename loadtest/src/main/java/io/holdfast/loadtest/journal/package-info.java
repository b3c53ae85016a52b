/**
 * Records of what was decided before a run and what happened in it, and the append-only file that holds them.
 *
 * <p>Nothing here runs, sends or judges. The components of these records are the file's format: a change to them needs
 * another {@code RunHeader.FORMAT}.
 */
@NullMarked
package io.holdfast.loadtest.journal;

import org.jspecify.annotations.NullMarked;
