package io.holdfast.embed.cell;

import java.time.Duration;

/**
 * Engine of a cell that is there.
 *
 * @param address where its sidecar is reached, which was read from a store and is compared with a list before it is
 *     called; empty where nobody may ask it
 * @param age time, by our clock, since what it says changed last
 */
public record CellEngine(String id, String address, Duration age) {}
