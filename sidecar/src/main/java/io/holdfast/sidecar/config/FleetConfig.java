package io.holdfast.sidecar.config;

import static io.holdfast.sidecar.config.ConfigException.require;

import io.holdfast.sidecar.config.Key.Change;
import io.holdfast.sidecar.config.Key.Default;
import io.holdfast.sidecar.config.Key.Reload;
import io.holdfast.sidecar.config.Key.Unit;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/** Place where this sidecar's engines tell those of others what is hot, and whom it asks for tokens. */
@Reload(Change.RESTART)
public record FleetConfig(
        @Key("where engines leave what the others should know: none, memory (among the engines of this process) or"
                + " valkey://host:port, valkeys://… (TLS), valkey-sentinel://host:port,…/name,"
                + " valkey-cluster://host:port,…")
        @Unit("address")
        @Default(value = "none", why = "nothing is shared, and nobody is asked")
        String store,

        @Key("word that keeps engines of one model apart that are to share nothing")
        @Unit(value = "name", range = "letters, digits, dots, dashes")
        @Default(why = "engines of one model share what is hot")
        Optional<String> namespace,

        @Key("environment variable that has the store's user") @Default(why = "none")
        Optional<String> userEnv,

        @Key("environment variable that has the store's password") @Default(why = "none")
        Optional<String> passwordEnv,

        @Key("URL at which peers may ask this sidecar for tokens: of fleet holds that it took, and of what is hot here")
        @Default(why = "nobody may ask, so other engines hold only what they saw themselves")
        Optional<URI> address,

        @Key("names, addresses and ranges of other sidecars, which may be asked for tokens of prompts, each perhaps"
                + " with a port (else that of address, or 8471); they have the same act token")
        @Unit(value = "names", range = "names, addresses, a.b.c.d/n")
        @Default(value = "[]", why = "nobody is asked, whatever the store says")
        List<String> peers,

        @Key("URLs of sidecars that follow the same engines by the same names: a late sidecar takes the view of a cache"
                + " from the first that is certain; they have the same act token")
        @Unit(value = "URLs", range = "http or https")
        @Default(value = "[]", why = "the sidecar's own last view is on its disk")
        List<URI> siblings,

        @Key(
                name = "warmSeconds",
                value = "most time that requests of the sidecar's own may take to fill the empty cache of"
                        + " an engine with what is hot at its peers; 0 fills none")
        @Unit(from = 0, to = 3_600)
        @Default(value = "20", why = "200,000 tokens at 10,000 a second")
        Duration warm,

        @Key("most tokens that this may store, and half of the cache at most")
        @Unit(value = "tokens", from = 0, to = 100_000_000)
        @Default(value = "200000", why = "some hundred prefixes")
        int warmTokens,

        @Key("part of it that has to be stored before `/readyz` says that the engine is ready; 0 waits for nothing")
        @Unit(value = "part", from = 0, to = 1)
        @Default(value = "0", why = "an engine that is cold serves, too")
        double readyWhenWarm,

        @Key("certificates that peers' and siblings' may be signed by") @Unit("file") @Default(why = "the JDK's")
        Optional<Path> caFile) {
    private static final int USUAL_PORT = 8471;
    private static final int LONGEST_ADDRESS = 256;
    private static final Pattern WORD = Pattern.compile("[A-Za-z0-9._-]{1,64}");
    private static final Pattern STORE = Pattern.compile("none|memory|(valkey|redis)s?(-(sentinel|cluster))?://\\S+");

    /** Fleet that shares nothing. */
    public static final FleetConfig NONE = new FleetConfig(
            "none",
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            List.of(),
            List.of(),
            Duration.ZERO,
            0,
            0,
            Optional.empty());

    public FleetConfig {
        require(
                STORE.matcher(store).matches(),
                "store",
                store,
                "write none, memory, or an address such as valkey://10.0.0.5:6379");
        namespace.ifPresent(word -> require(
                WORD.matcher(word).matches(), "namespace", word, "write 1 to 64 letters, digits, dots and dashes"));
        address.ifPresent(url -> requireSidecar(
                "address",
                url,
                "tokens of prompts leave this machine by https alone: write listen.tls and an https address"));
        siblings = List.copyOf(siblings);
        for (int i = 0; i < siblings.size(); i++) {
            requireSidecar(
                    "siblings[" + i + "]",
                    siblings.get(i),
                    "the act token leaves this machine by https alone: write listen.tls there and an https address"
                            + " here");
        }
        peers = List.copyOf(peers);
        for (int i = 0; i < peers.size(); i++) {
            require(
                    Peers.isOne(peers.get(i)),
                    "peers[" + i + "]",
                    peers.get(i),
                    "write a name, an address or a range such as 10.0.0.0/24");
        }
    }

    private static void requireSidecar(String key, URI url, String plain) {
        require(
                url.getHost() != null
                        && EngineConfig.isHttp(url)
                        && url.getRawUserInfo() == null
                        && url.getRawQuery() == null
                        && url.getRawFragment() == null
                        && (url.getRawPath().isEmpty() || url.getRawPath().equals("/"))
                        && url.toString().length() <= LONGEST_ADDRESS
                        && url.toString().chars().allMatch(c -> c > ' ' && c <= '~'),
                key,
                "not such a URL",
                "write scheme, host and port alone, such as https://10.0.0.7:8471");
        require("https".equals(url.getScheme()) || SidecarConfig.Listen.isLoopback(url.getHost()), key, url, plain);
    }

    /** Returns true if anything is shared. */
    public boolean shares() {
        return !store.equals("none");
    }

    /** Returns who may be asked for tokens. */
    public Peers mayBeAsked() {
        return new Peers(
                peers, address.map(URI::getPort).filter(port -> port >= 0).orElse(USUAL_PORT));
    }
}
