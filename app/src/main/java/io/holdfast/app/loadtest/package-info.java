/**
 * Commands of the load test that judge: {@code aa}, {@code ab}, {@code sweep} and those that read their journals.
 */
@NullMarked
package io.holdfast.app.loadtest;

import org.jspecify.annotations.NullMarked;
