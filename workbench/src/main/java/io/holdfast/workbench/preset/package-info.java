/**
 * Load tests that people in this field run and publish, under a name and with the controls that theirs lack: which legs
 * each has, what happens between them, and what files are left behind. Loads are recipes in YAML beside the classes.
 *
 * <p>Nothing here starts a server, parses a command line or prints; who does hands in the server and writes what is
 * computed.
 */
@NullMarked
package io.holdfast.workbench.preset;

import org.jspecify.annotations.NullMarked;
