package io.holdfast.sidecar.config;

import java.net.InetAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Other sidecars that the configuration names; nobody else is called or told anything, whatever a store says. */
public final class Peers {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9]([A-Za-z0-9._-]{0,252})");
    private static final Pattern LITERAL =
            Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*");

    private static final Pattern PORT = Pattern.compile("(\\[[^]]*]|[^:\\[\\]]*):([0-9]{1,5})");

    private final List<String> peers;
    private final int usual;

    /**
     * Names them.
     *
     * @param peers names, addresses and ranges of them, each perhaps with a port
     * @param usual port of those that have none
     */
    public Peers(List<String> peers, int usual) {
        this.peers = List.copyOf(peers);
        this.usual = usual;
    }

    private static String host(String peer) {
        Matcher written = PORT.matcher(peer);
        String host = written.matches() ? written.group(1) : peer;
        return host.startsWith("[") && host.endsWith("]") ? host.substring(1, host.length() - 1) : host;
    }

    private int port(String peer) {
        Matcher written = PORT.matcher(peer);
        return written.matches() ? Integer.parseInt(written.group(2)) : usual;
    }

    /** The port of those that are named without one. */
    public int usualPort() {
        return usual;
    }

    /** Returns true if there are none. */
    public boolean none() {
        return peers.isEmpty();
    }

    static boolean isOne(String written) {
        Matcher port = PORT.matcher(written);
        if (port.matches() && (Integer.parseInt(port.group(2)) < 1 || Integer.parseInt(port.group(2)) > 65_535)) {
            return false;
        }
        String peer = host(written);
        int slash = peer.indexOf('/');
        String host = slash < 0 ? peer : peer.substring(0, slash);
        if (!LITERAL.matcher(host).matches()) {
            return slash < 0 && NAME.matcher(host).matches();
        }
        try {
            int bits = bytes(host).length * Byte.SIZE;
            return slash < 0
                    || (peer.substring(slash + 1).matches("[0-9]{1,3}")
                            && Integer.parseInt(peer.substring(slash + 1)) <= bits);
        } catch (UnknownHostException e) {
            return false;
        }
    }

    /** Returns true if a sidecar at this URL may be called: it is one of them, and beyond this machine it has TLS. */
    public boolean may(URI url) {
        String host = url.getHost();
        if (host == null || url.getRawUserInfo() != null) {
            return false;
        }
        String name = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
        boolean encrypted = "https".equals(url.getScheme());
        boolean local = "http".equals(url.getScheme()) && SidecarConfig.Listen.isLoopback(name);
        int port = url.getPort() >= 0 ? url.getPort() : encrypted ? 443 : 80;
        // Whoever is asked is shown the act token: another service of a peer's machine must not be.
        return (encrypted || local) && peers.stream().anyMatch(peer -> port(peer) == port && covers(host(peer), name));
    }

    /** A name is one of them as it is written, since what it resolves to is a name server's word. */
    private static boolean covers(String peer, String host) {
        int slash = peer.indexOf('/');
        String of = slash < 0 ? peer : peer.substring(0, slash);
        if (!LITERAL.matcher(of).matches() || !LITERAL.matcher(host).matches()) {
            return slash < 0 && of.toLowerCase(Locale.ROOT).equals(host.toLowerCase(Locale.ROOT));
        }
        try {
            byte[] wanted = bytes(of);
            byte[] given = bytes(host);
            int bits = slash < 0 ? wanted.length * Byte.SIZE : Integer.parseInt(peer.substring(slash + 1));
            return wanted.length == given.length && alike(wanted, given, bits);
        } catch (UnknownHostException e) {
            return false;
        }
    }

    private static boolean alike(byte[] one, byte[] other, int bits) {
        for (int i = 0; i < bits; i++) {
            int mask = 0x80 >>> (i % Byte.SIZE);
            if (((one[i / Byte.SIZE] ^ other[i / Byte.SIZE]) & mask) != 0) {
                return false;
            }
        }
        return true;
    }

    /** A literal is looked up by nobody. */
    private static byte[] bytes(String literal) throws UnknownHostException {
        return InetAddress.getByName(literal).getAddress();
    }
}
