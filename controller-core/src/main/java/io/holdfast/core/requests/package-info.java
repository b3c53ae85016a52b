/**
 * Requests as far as an engine's events show them. Lives here: putting stores together to requests, and how many of the
 * engine's requests stay invisible. Not here: which blocks are where for others to ask, and what is decided on it.
 */
@NullMarked
package io.holdfast.core.requests;

import org.jspecify.annotations.NullMarked;
