/**
 * Tables that somebody published: reading them, reporting what they can and cannot show, and keeping a log of them.
 *
 * <p>Nothing here measures. A table is somebody's word for what was measured, so no finding of this package is ever
 * that an effect is real; what would have to be measured for that is written as a plan.
 */
@NullMarked
package io.holdfast.workbench.table;

import org.jspecify.annotations.NullMarked;
