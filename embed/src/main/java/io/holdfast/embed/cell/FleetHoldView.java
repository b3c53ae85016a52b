package io.holdfast.embed.cell;

import java.util.List;
import java.util.Map;

/**
 * One hold of the fleet, as it is now.
 *
 * @param hold what is wanted, with what is left of its lease
 * @param ours whether this process took it, and so puts it again
 * @param chosen engines that should keep it, the first choice first
 * @param copies what engines said about it, by their ids; one that was chosen lately has said nothing yet
 */
public record FleetHoldView(FleetHold hold, boolean ours, List<String> chosen, Map<String, HeldCopy> copies) {}
