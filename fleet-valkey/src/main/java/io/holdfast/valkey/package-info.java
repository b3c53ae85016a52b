/**
 * A fleet's store on Valkey, or on Redis and whatever else speaks its protocol. Must not: decide what is stored, or let
 * anybody else see the client library.
 */
@NullMarked
package io.holdfast.valkey;

import org.jspecify.annotations.NullMarked;
