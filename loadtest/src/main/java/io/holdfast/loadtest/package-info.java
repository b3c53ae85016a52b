/**
 * The load test that validates decisions with controls. Knows engines through HTTP alone.
 */
@NullMarked
package io.holdfast.loadtest;

import org.jspecify.annotations.NullMarked;
