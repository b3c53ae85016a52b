/**
 * The front door: one command with subcommands, and the demo.
 *
 * <p>Must not: a rule of its own. It reads options, calls the module that knows, and prints.
 */
@NullMarked
package io.holdfast.app;

import org.jspecify.annotations.NullMarked;
