package io.holdfast.valkey;

import io.holdfast.embed.cell.FleetStoreException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Servers, and how they are asked.
 *
 * @param hosts servers, or the sentinels that know the server
 * @param primary name by which sentinels know the server
 * @param authority file of certificates that a server's must come from; without one those that Java trusts
 */
record ValkeyAddress(Form form, boolean tls, List<Host> hosts, int database, String primary, Optional<Path> authority) {
    private static final String EXAMPLES = "write valkey://host:6379, valkey-sentinel://host1,host2/name or"
            + " valkey-cluster://host1,host2, with valkeys for TLS";
    private static final Pattern SCHEME = Pattern.compile("(?:valkey|redis)(s?)(?:-(sentinel|cluster))?://(.*)");
    private static final Pattern REST = Pattern.compile("([^/?#]+)(?:/([^/?#]*))?(?:\\?([^#]*))?");
    private static final Pattern HOST = Pattern.compile("([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+])(?::(\\d{1,5}))?");
    private static final int MOST_HOSTS = 64;

    /** What is at the address. */
    enum Form {
        SERVER,
        SENTINEL,
        CLUSTER
    }

    record Host(String name, int port) {
        @Override
        public String toString() {
            return (name.contains(":") ? "[" + name + "]" : name) + ":" + port;
        }
    }

    static boolean isAddress(String text) {
        return SCHEME.matcher(text).matches();
    }

    /** @throws FleetStoreException with one sentence, which repeats nothing that could be a password */
    static ValkeyAddress of(String text) {
        if (text.contains("@")) {
            throw new FleetStoreException(
                    "An address of Valkey has no user and no password, since addresses are printed"
                            + " and logged; put both into environment variables and name those.");
        }
        Matcher scheme = SCHEME.matcher(text);
        Matcher rest = REST.matcher(scheme.matches() ? scheme.group(3) : "");
        if (!rest.matches()) {
            throw new FleetStoreException("The address of Valkey is none; " + EXAMPLES + ".");
        }
        Form form = scheme.group(2) == null
                ? Form.SERVER
                : scheme.group(2).equals("sentinel") ? Form.SENTINEL : Form.CLUSTER;
        String path = Optional.ofNullable(rest.group(2)).orElse("");
        List<Host> hosts = hosts(rest.group(1), form);
        return new ValkeyAddress(
                form,
                scheme.group(1).equals("s"),
                hosts,
                form == Form.SERVER ? database(path) : 0,
                form == Form.SENTINEL ? primary(path) : "",
                Optional.ofNullable(rest.group(3))
                        .map(query -> authority(query, scheme.group(1).equals("s"))));
    }

    /** Where it is, for a sentence. */
    String said() {
        String where = hosts.stream().limit(3).map(Host::toString).collect(Collectors.joining(", "))
                + (hosts.size() > 3 ? ", …" : "");
        return switch (form) {
            case SERVER -> "Valkey at " + where + (database == 0 ? "" : "/" + database);
            case SENTINEL -> "Valkey's " + primary + " of the sentinels at " + where;
            case CLUSTER -> "Valkey's cluster at " + where;
        };
    }

    private static List<Host> hosts(String text, Form form) {
        List<Host> hosts = new ArrayList<>();
        for (String each : text.split(",", -1)) {
            Matcher host = HOST.matcher(each);
            int port = !host.matches()
                    ? 0
                    : host.group(2) != null ? Integer.parseInt(host.group(2)) : form == Form.SENTINEL ? 26_379 : 6_379;
            if (port < 1 || port > 65_535) {
                throw new FleetStoreException("The address of Valkey has a host that is none; " + EXAMPLES + ".");
            }
            hosts.add(new Host(host.group(1).replaceAll("[\\[\\]]", ""), port));
        }
        if (hosts.size() > (form == Form.SERVER ? 1 : MOST_HOSTS)) {
            throw new FleetStoreException("The address of Valkey has " + hosts.size() + " hosts, of which "
                    + (form == Form.SERVER ? "one server has one; " + EXAMPLES : "64 are enough; leave some out")
                    + ".");
        }
        return List.copyOf(hosts);
    }

    private static int database(String path) {
        if (!path.matches("\\d{0,4}")) {
            throw new FleetStoreException("The address of Valkey ends with the number of a database, as in"
                    + " valkey://host:6379/1, or with the host; write it so.");
        }
        return path.isEmpty() ? 0 : Integer.parseInt(path);
    }

    private static String primary(String path) {
        if (!path.matches("[A-Za-z0-9._-]+")) {
            throw new FleetStoreException("The address of Valkey's sentinels ends with the name by which they know the"
                    + " server; write it as in valkey-sentinel://host1,host2/mymaster.");
        }
        return path;
    }

    private static Path authority(String query, boolean tls) {
        if (!tls || !query.startsWith("ca=")) {
            throw new FleetStoreException("The address of Valkey takes one parameter, and that with TLS: ?ca=FILE, the"
                    + " certificates that the server's must come from; leave other ones out.");
        }
        Path file = Path.of(query.substring("ca=".length()));
        if (!Files.isReadable(file)) {
            throw new FleetStoreException("The file " + file + " with certificates for Valkey cannot be read; put it"
                    + " there, or correct ca in the address.");
        }
        return file;
    }
}
