/**
 * The demo, and emulated engines as a command.
 */
@NullMarked
package io.holdfast.app.demo;

import org.jspecify.annotations.NullMarked;
