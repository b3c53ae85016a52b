/**
 * Requests as far as an engine's events show them. Lives here: putting stores together to requests, and how many of the
 * engine's requests stay invisible. Not here: which blocks are where for others to ask, and what is decided on it.
 *
 * <p>With readings after each request all recorded sessions of real servers come out exactly. From events alone 986 of
 * their 1,440 storing requests come out certain, all of them right, and 170 more are judged rightly; the rest is two
 * requests taken for one. The invisible share errs upwards: it is the engine's own count less what was seen.
 */
@NullMarked
package io.holdfast.core.requests;

import org.jspecify.annotations.NullMarked;
