/**
 * An engine's event stream: subscription, codec, and the names that engines give to blocks.
 *
 * <p>Must not: HTTP, decisions. What an event means for the cache is the index's business.
 */
@NullMarked
package io.holdfast.events;

import org.jspecify.annotations.NullMarked;
