/**
 * kvcached: what its shared memory segment says.
 */
@NullMarked
package io.holdfast.kvcached;

import org.jspecify.annotations.NullMarked;
