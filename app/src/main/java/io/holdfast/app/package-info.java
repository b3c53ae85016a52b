/**
 * The front door: one command with subcommands, and the demo.
 */
@NullMarked
package io.holdfast.app;

import org.jspecify.annotations.NullMarked;
