/**
 * Suites that vary one thing at a time: cache states by length and batch, users that come one after the other or
 * together, servers that are started differently; and the gate that waits for a server to be as fast as it was.
 *
 * <p>Here are plans, and what their legs come to. How a leg is sent, kept and summed up is in {@code load} and {@code
 * measure}, and statistics are in {@code evidence}.
 */
@NullMarked
package io.holdfast.workbench.matrix;

import org.jspecify.annotations.NullMarked;
