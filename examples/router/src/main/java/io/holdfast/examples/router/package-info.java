/** Routers to copy from: one that routes by prefix, and one that has prefixes kept. Must not: need more than the library and the JDK. */
@NullMarked
package io.holdfast.examples.router;

import org.jspecify.annotations.NullMarked;
