package io.holdfast.loadtest.client;

import io.holdfast.loadtest.workload.LoadRequest;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** A request of a load test as a command that sends the same bytes. */
public final class CurlCommand {
    private CurlCommand() {}

    /**
     * The command for a request.
     *
     * @param headers the names of headers whose values no journal has; each is a variable of the shell's to be filled
     *     in
     */
    public static String of(URI server, HttpSettings asked, LoadRequest request, List<String> headers) {
        StringBuilder command = new StringBuilder("curl -sS -N ")
                .append(quoted(ControlHttp.withoutEndSlashes(server.toString())
                        + asked.route().path()))
                .append(" -H 'Content-Type: application/json'");
        headers.forEach(name -> command.append(" -H \"")
                .append(name)
                .append(": $")
                .append(name.toUpperCase(Locale.ROOT).replaceAll("[^A-Z0-9]", "_"))
                .append('"'));
        return command.append(" --data-binary ")
                .append(quoted(new String(asked.body(request), StandardCharsets.UTF_8)))
                .toString();
    }

    private static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }
}
