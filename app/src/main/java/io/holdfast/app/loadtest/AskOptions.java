package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.client.HttpSettings;
import io.holdfast.loadtest.client.TrustedCa;
import io.holdfast.loadtest.journal.RunHeader;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/**
 * Options for every request to the server of a load test: key, headers, trusted certificates, and whether answers end
 * where the model ends them. Values of headers go to the server alone.
 */
public final class AskOptions {
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]+");
    private static final String KEY = "Authorization";

    /** The client writes these itself. */
    private static final Set<String> OWN = Set.of(
            "connection", "content-length", "content-type", "expect", "host", "te", "transfer-encoding", "upgrade");

    @Option(
            names = "--api-key-env",
            paramLabel = "VARIABLE",
            description = "Environment variable with the server's key (default: no key is sent).")
    private @Nullable String variable;

    @Option(
            names = "--header",
            paramLabel = "'NAME: VALUE'",
            description = "A header of every request to the server; repeatable. The journal records only its name. Give"
                    + " a key by --api-key-env instead, since other users can see a command line.")
    private @Nullable List<String> headers;

    @Option(
            names = "--no-ignore-eos",
            description = "Omit the field ignore_eos, which some servers refuse; answers then end where the model"
                    + " ends them (default: every answer has all of its tokens).")
    private boolean ending;

    @Option(
            names = "--ca",
            paramLabel = "FILE",
            description = "PEM file of trusted certificates for https:// (default: those that Java trusts).")
    private @Nullable Path ca;

    public AskOptions() {}

    /** Returns options that a resumed run needs again, since no journal has them. */
    String again() {
        return (variable == null ? "" : " --api-key-env " + StatusReport.quoted(variable))
                + again(String.join(", ", own().keySet()));
    }

    /** The same of a run by its journal. */
    public static String again(RunHeader header) {
        return again(header.client().getOrDefault(RunHeader.HEADERS, ""));
    }

    private static String again(String names) {
        return names(names)
                .map(name -> " --header " + StatusReport.quoted(name + ": VALUE"))
                .collect(Collectors.joining());
    }

    private static Stream<String> names(String joined) {
        return Stream.of(joined.split(", ", -1)).filter(name -> !name.isEmpty());
    }

    /** The file of certificates, for the journal. */
    Optional<Path> ca() {
        return Optional.ofNullable(ca).map(Path::toAbsolutePath);
    }

    /** The settings with all of these, once they agree. */
    public HttpSettings on(HttpSettings http, Map<String, String> environment) {
        return on(http, environment, ca());
    }

    /** Those of a run that is resumed. */
    HttpSettings again(HttpSettings http, Map<String, String> environment, RunHeader header) {
        Map<String, String> given = own();
        String missing = names(header.client().getOrDefault(RunHeader.HEADERS, ""))
                .filter(name -> !given.containsKey(name))
                .collect(Collectors.joining(", "));
        if (!missing.isEmpty()) {
            throw new CommandException("The run sent the header " + missing
                    + ", and what was in it is in no journal; write it again, by --header 'NAME: VALUE'.");
        }
        HttpSettings asked =
                on(http, environment, ca().or(() -> header.test().targetAgain().ca()));
        return header.client().containsKey(RunHeader.ENDS) ? asked.endingWithTheModel() : asked;
    }

    private HttpSettings on(HttpSettings http, Map<String, String> environment, Optional<Path> trusted) {
        Map<String, String> all = own();
        all.putAll(key(environment));
        HttpSettings asked = http.withHeaders(all);
        HttpSettings ended = ending ? asked.endingWithTheModel() : asked;
        return trusted.map(file -> ended.withCa(TrustedCa.of(file))).orElse(ended);
    }

    private Map<String, String> key(Map<String, String> environment) {
        if (variable == null) {
            return Map.of();
        }
        String key = Optional.ofNullable(environment.get(variable)).orElse("").strip();
        if (key.isEmpty() || !isPlain(key)) {
            throw new CommandException("--api-key-env names " + variable
                    + ", in which there is no key; put the server's key into that environment variable.");
        }
        return Map.of(KEY, "Bearer " + key);
    }

    /** What does not fit is told by its place, since it may be a secret. */
    private Map<String, String> own() {
        Map<String, String> own = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        List<String> given = headers == null ? List.of() : headers;
        for (int i = 0; i < given.size(); i++) {
            String which = given.size() == 1 ? "--header" : "--header number " + (i + 1);
            int colon = given.get(i).indexOf(':');
            String name = colon < 0 ? "" : given.get(i).substring(0, colon).strip();
            String value = given.get(i).substring(colon + 1).strip();
            if (!NAME.matcher(name).matches()) {
                throw new CommandException(which + " has no name and a colon first; write 'NAME: VALUE'.");
            }
            if (value.isEmpty() || !isPlain(value)) {
                throw new CommandException(which + " has nothing in " + name
                        + " that a header can have; write 'NAME: VALUE' in plain letters.");
            }
            if (OWN.contains(name.toLowerCase(Locale.ROOT))) {
                throw new CommandException(which + " is " + name + ", which the client writes itself; leave it out.");
            }
            if (variable != null && KEY.equalsIgnoreCase(name)) {
                throw new CommandException(
                        which + " is " + name + ", and so is the key of --api-key-env; leave one" + " out.");
            }
            if (own.put(name, value) != null) {
                throw new CommandException(which + " is " + name + " again; write each name once.");
            }
        }
        return own;
    }

    private static boolean isPlain(String text) {
        return text.chars().allMatch(c -> c >= ' ' && c <= '~');
    }
}
