/**
 * Parts of a command line that several commands share: text, exit codes, options, signals.
 */
@NullMarked
package io.holdfast.app.cli;

import org.jspecify.annotations.NullMarked;
