/**
 * The ledger of one engine as a file, for a sidecar and for routers alike: locked against a second process, written and
 * forced before it is acted upon. Must not: know what a pin is, or which engine it is at.
 */
@NullMarked
package io.holdfast.embed.ledger;

import org.jspecify.annotations.NullMarked;
