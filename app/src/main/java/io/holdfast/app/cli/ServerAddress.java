package io.holdfast.app.cli;

import java.net.URI;

/** Addresses of servers as options take them. */
public final class ServerAddress {
    public static final int MOST_PORT = 65_535;

    /** Ending of addresses as people write them, after OpenAI's own. */
    private static final String VERSION_PATH = "/v1";

    private ServerAddress() {}

    /** The server's address where it was written with the path of OpenAI's routes. */
    public static URI withoutVersion(URI url) {
        String text = url.toString();
        while (text.endsWith("/")) {
            text = text.substring(0, text.length() - 1);
        }
        return URI.create(
                text.endsWith(VERSION_PATH) ? text.substring(0, text.length() - VERSION_PATH.length()) : text);
    }

    /** Refuses what is no address of an HTTP server, or names a user. */
    public static void check(String option, URI uri) {
        if (!("http".equals(uri.getScheme()) || "https".equals(uri.getScheme()))
                || uri.getHost() == null
                || uri.getPort() > MOST_PORT) {
            throw new CommandException(option + " is '" + uri + "'; write an address such as http://127.0.0.1:30000.");
        }
        if (uri.getUserInfo() != null) {
            // Addresses are written down.
            throw new CommandException(option + " names a user; leave that out, and give a key by --api-key-env.");
        }
    }
}
