/**
 * What somebody published as a table: reading it, saying what it can and cannot show, and keeping a log of such tables.
 *
 * <p>Nothing here measures. A table is somebody's word for what was measured, so no finding of this package is ever that
 * an effect is real; what would have to be measured for that is written as a plan.
 */
@NullMarked
package io.holdfast.workbench.table;

import org.jspecify.annotations.NullMarked;
