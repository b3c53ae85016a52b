package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Places where engines are found beside those that are listed. */
@Reload(Change.IN_PLACE)
public record DiscoveryConfig(
        @Key("files with engines by their names, as under engines, beside the configuration's file")
        @Unit(value = "pattern", range = "one * in the name")
        @Default(why = "no files")
        Optional<String> file,

        @Key("a name whose addresses are engines") @Default(why = "no name")
        Optional<Dns> dns,

        @Key(name = "everySeconds", value = "time between two looks at files and names")
        @Unit(from = 1, to = 3_600)
        @Default(value = "10", why = "a pod is up within about that time")
        Duration every,

        @Key(name = "graceSeconds", value = "time that an engine stays after its name has stopped giving it")
        @Unit(from = 0, to = 86_400)
        @Default(value = "60", why = "names flicker while pods restart")
        Duration grace,

        @Key("most engines that are taken")
        @Unit(value = "engines", from = 1, to = 256)
        @Default(value = "64", why = "what one sidecar was measured with")
        int mostEngines) {
    /** Kinds of records that are asked for. */
    public enum Records {
        ADDRESS,
        SRV
    }

    /** Ways to speak to an engine that was found. */
    public enum Scheme {
        HTTP,
        HTTPS
    }

    /** Name that is looked up. */
    @Reload(Change.IN_PLACE)
    public record Dns(
            @Key("name that is looked up") @Unit("name") String name,

            @Key("family of every engine found") EngineType type,

            @Key("A and AAAA records, or SRV records, which have ports")
            @Default(value = "address", why = "what a headless service gives")
            Records records,

            @Key("port of each engine; SRV records have their own")
            @Unit(value = "port", from = 1, to = 65_535)
            @Default(value = "30000", why = "SGLang's default")
            int port,

            @Key("way to speak to each") @Default(value = "http", why = "engines in one cluster speak plain")
            Scheme scheme,

            @Key("name server to ask") @Unit("address:port") @Default(why = "the system's resolver")
            Optional<String> server,

            @Key("other keys of every engine found, such as {share: 0.3}; * in events and replay is its address")
            @Unit(value = "mapping", range = "keys of an engine")
            @Default(value = "{}", why = "an engine's defaults")
            ObjectNode engine) {
        public Dns {
            require(
                    name.matches("[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})"),
                    "name",
                    name,
                    "write a name such as engines.default.svc.cluster.local");
            server.ifPresent(address -> require(
                    address.matches("[0-9A-Fa-f.:]+:[0-9]{1,5}"),
                    "server",
                    address,
                    "write an address with its port, such as 10.96.0.10:53"));
            engine = engine.deepCopy();
            for (String own : List.of("type", "url")) {
                if (engine.has(own)) {
                    throw new ConfigException("engine." + own, "is found, or written above; leave it out here");
                }
            }
            EngineConfig _ = at(type, scheme, engine, "engine.example", port);
        }

        @Override
        public ObjectNode engine() {
            return engine.deepCopy();
        }

        /** Returns the engine that the name gave. */
        public EngineConfig at(String host, int found) {
            return at(type, scheme, engine, host, found);
        }

        private static EngineConfig at(EngineType type, Scheme scheme, ObjectNode keys, String host, int port) {
            ObjectNode engine = keys.deepCopy();
            String address = host.contains(":") ? "[" + host + "]" : host;
            engine.put("type", type.name().toLowerCase(Locale.ROOT));
            engine.put("url", scheme.name().toLowerCase(Locale.ROOT) + "://" + address + ":" + port);
            // A vLLM does not report where it publishes, and each engine that a name gives has another address.
            for (String endpoint : List.of("events", "replay")) {
                if (engine.path(endpoint).isTextual()) {
                    engine.put(endpoint, engine.path(endpoint).textValue().replace("://*:", "://" + address + ":"));
                }
            }
            try {
                return EngineConfig.read(DnsLookup.id(host, port), engine);
            } catch (ConfigException e) {
                throw e.under("engine");
            }
        }
    }

    public DiscoveryConfig {
        require(
                file.isPresent() || dns.isPresent(),
                "",
                "",
                "write file, a pattern such as engines.d/*.yaml, or dns: {name: …, type: …}");
    }
}
