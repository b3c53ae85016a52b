package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.config.EngineConfig.EngineType;
import java.time.Duration;
import java.util.Optional;

/**
 * Where engines are found beside those that are listed.
 *
 * @param file a pattern of files with engines
 * @param dns a name whose addresses are engines
 * @param every how often both are looked at
 * @param grace how long an engine stays that its name does not give any more
 * @param mostEngines more are not taken
 */
public record DiscoveryConfig(
        Optional<String> file, Optional<Dns> dns, Duration every, Duration grace, int mostEngines) {
    /** What is asked for. */
    public enum Records {
        ADDRESS,
        SRV
    }

    /**
     * One name.
     *
     * @param port of each engine, where records have none
     * @param server a name server to ask, {@code address:port}; absent: the system's resolver
     * @param engine what else each engine is told, by the keys of an engine
     */
    public record Dns(
            String name,
            EngineType type,
            Records records,
            int port,
            String scheme,
            Optional<String> server,
            ObjectNode engine) {
        public Dns {
            require(
                    name.matches("[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})"),
                    "name",
                    name,
                    "write a name such as engines.default.svc.cluster.local");
            require(port >= 1 && port <= 65_535, "port", port, "write 1 to 65535");
            require(scheme.equals("http") || scheme.equals("https"), "scheme", scheme, "write http or https");
            server.ifPresent(address -> require(
                    address.matches("[0-9A-Fa-f.:]+:[0-9]{1,5}"),
                    "server",
                    address,
                    "write an address with its port, such as 10.96.0.10:53"));
            engine = engine.deepCopy();
        }

        @Override
        public ObjectNode engine() {
            return engine.deepCopy();
        }
    }

    public DiscoveryConfig {
        require(
                file.isPresent() || dns.isPresent(),
                "",
                "",
                "write file, a pattern such as engines.d/*.yaml, or dns: {name: …, type: …}");
        require(
                every.toSeconds() >= 1 && every.toSeconds() <= 3_600,
                "everySeconds",
                every.toSeconds(),
                "write 1 to 3600");
        require(
                !grace.isNegative() && grace.toSeconds() <= 86_400,
                "graceSeconds",
                grace.toSeconds(),
                "write 0 to 86400");
        require(mostEngines >= 1 && mostEngines <= 256, "mostEngines", mostEngines, "write 1 to 256");
    }
}
