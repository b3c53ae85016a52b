/**
 * HTTP API: routes, bodies, access, quotas, streams, the page.
 *
 * <p>Must not: a rule about holds; a route parses, asks the link and renders.
 */
@NullMarked
package io.holdfast.sidecar.http;

import org.jspecify.annotations.NullMarked;
