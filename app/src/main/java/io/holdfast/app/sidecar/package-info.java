/**
 * Commands about running engines: {@code sidecar}, {@code doctor}, {@code observe}, {@code top}, {@code summary}, {@code ledger}.
 */
@NullMarked
package io.holdfast.app.sidecar;

import org.jspecify.annotations.NullMarked;
