package io.holdfast.sidecar.fleet;

import io.holdfast.sidecar.config.DiscoveryConfig;
import io.holdfast.sidecar.config.DiscoveryConfig.Dns;
import io.holdfast.sidecar.config.DnsLookup;
import io.holdfast.sidecar.config.DnsLookup.Found;
import io.holdfast.sidecar.config.EngineAddress;
import io.holdfast.sidecar.config.EngineConfig;
import io.holdfast.sidecar.config.SidecarConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;

/**
 * The engines that a name stands for now.
 *
 * <p>A name server that cannot be asked changes nothing, however long that lasts; one that answers without an engine has it
 * let go of after a grace time. For one thread at a time.
 */
final class Discovery {
    /** Looks up the places that a name gives. */
    interface Lookup {
        List<Found> find(Dns dns) throws IOException;
    }

    private record Seen(Found at, long lastNanos) {}

    private final Lookup lookup;
    private final LongSupplier clock;
    private final Map<String, Seen> seen = new TreeMap<>();
    private Optional<Dns> asked = Optional.empty();
    private volatile List<String> notes = List.of();

    Discovery(Lookup lookup, LongSupplier clock) {
        this.lookup = lookup;
        this.clock = clock;
    }

    /** Looks the name up; answers whether other engines came of it than before. */
    boolean look(Optional<DiscoveryConfig> config) {
        Optional<Dns> dns = config.flatMap(DiscoveryConfig::dns);
        Set<String> before = new HashSet<>(seen.keySet());
        if (!dns.equals(asked)) {
            // What another name gave is nothing to be patient with.
            seen.clear();
            asked = dns;
        }
        dns.ifPresent(name -> look(name, config.orElseThrow()));
        if (dns.isEmpty()) {
            notes = List.of();
        }
        return !before.equals(seen.keySet());
    }

    private void look(Dns dns, DiscoveryConfig config) {
        long now = clock.getAsLong();
        List<String> said = new ArrayList<>();
        try {
            List<Found> found = lookup.find(dns);
            Set<String> there = new HashSet<>();
            int passedOver = 0;
            for (Found each : found) {
                String id = DnsLookup.id(each.host(), each.port());
                if (seen.containsKey(id) || seen.size() < config.mostEngines()) {
                    seen.put(id, new Seen(each, now));
                    there.add(id);
                } else {
                    passedOver++;
                }
            }
            seen.entrySet()
                    .removeIf(each -> !there.contains(each.getKey())
                            && now - each.getValue().lastNanos()
                                    >= config.grace().toNanos());
            long gone = seen.keySet().stream().filter(id -> !there.contains(id)).count();
            if (gone > 0) {
                said.add("discovery: " + dns.name() + " no longer lists " + gone
                        + " of its engines; they are released when this has lasted "
                        + config.grace().toSeconds() + " s");
            }
            if (passedOver > 0) {
                said.add("discovery: " + dns.name() + " gives " + passedOver + " engines more than mostEngines, "
                        + config.mostEngines() + ", allows");
            }
        } catch (IOException e) {
            seen.replaceAll((id, each) -> new Seen(each.at(), now));
            said.add("discovery: " + e.getMessage() + "; the " + seen.size() + " engines found before stay");
        }
        notes = said;
    }

    /** Returns the configuration with the engines that were found; a listed one is not found a second time. */
    SidecarConfig complete(SidecarConfig listed) {
        if (seen.isEmpty() || asked.isEmpty()) {
            return listed;
        }
        List<EngineConfig> all = new ArrayList<>(listed.engines());
        Set<String> addresses = new HashSet<>();
        Set<String> ids = new HashSet<>();
        all.forEach(engine -> {
            addresses.add(EngineAddress.resolved(engine.url()));
            ids.add(engine.id());
        });
        for (Seen each : seen.values()) {
            EngineConfig found = listed.discovery()
                    .flatMap(DiscoveryConfig::dns)
                    .orElse(asked.get())
                    .at(each.at().host(), each.at().port());
            if (addresses.add(EngineAddress.resolved(found.url())) && ids.add(found.id())) {
                all.add(found);
            }
        }
        return listed.withEngines(all);
    }

    /** Returns what a person should know of it. */
    List<String> notes() {
        return notes;
    }
}
