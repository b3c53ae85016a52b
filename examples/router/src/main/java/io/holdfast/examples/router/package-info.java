/** A router to copy from. Must not: need more than the block index, the event stream and the JDK. */
@NullMarked
package io.holdfast.examples.router;

import org.jspecify.annotations.NullMarked;
