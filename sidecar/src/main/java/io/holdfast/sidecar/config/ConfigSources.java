package io.holdfast.sidecar.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.sidecar.config.ConfigTree.Spelling;
import io.holdfast.sidecar.config.ConfigTree.Written;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.regex.Pattern;

/**
 * Sources of a configuration: flags go before the environment, that before the file, and the file before defaults.
 *
 * <p>One rule holds for all keys: {@code engines: {main: {share: 0.3}}} in a file is {@code --set
 * engines.main.share=0.3} on the command line and {@code HOLDFAST_ENGINES_MAIN_SHARE=0.3} in the environment. All are
 * read anew each time, so that a reload sees what the files say by then.
 */
public final class ConfigSources {
    private static final String PREFIX = Spelling.VARIABLE.prefix;
    /** Variables that are about the process or other commands. */
    private static final Set<String> OTHERS = Set.of(
            "HOLDFAST_LOG",
            "HOLDFAST_LOG_FORMAT",
            "HOLDFAST_DEBUG",
            "HOLDFAST_JAVA_HOME",
            "HOLDFAST_JAVA_OPTS",
            "HOLDFAST_CONFIG",
            "HOLDFAST_ARM",
            "HOLDFAST_PREFIX");
    /** Variables that Kubernetes and Docker set for every process beside a service called holdfast. */
    private static final Pattern SERVICE = Pattern.compile(
            "HOLDFAST(_[A-Z0-9_]+)?_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR))");

    private static final Pattern LINK = Pattern.compile("(tcp|udp|sctp)://.*");

    private static final int MOST_LINES = 60;
    private static final int MOST_FOUND = 64;

    /**
     * One value on the command line.
     *
     * @param typed the flag as it was typed, without the value
     * @param key such as {@code engines.main.share}
     */
    public record Setting(String typed, String key, String value) {
        /**
         * Reads {@code key=value}.
         *
         * @throws ConfigException with one sentence, where it is not that
         */
        public static Setting of(String written) {
            int at = written.indexOf('=');
            if (at < 1) {
                throw new ConfigException(
                        "",
                        "--set is " + ConfigException.shown(written) + "; write KEY=VALUE, such as listen.port=9000");
            }
            return new Setting(
                    "--set " + written.substring(0, at), written.substring(0, at), written.substring(at + 1));
        }
    }

    private final Optional<Path> file;
    private final Map<String, String> environment;
    private final List<Setting> settings;
    private final Supplier<List<Setting>> defaults;

    private ConfigSources(
            Optional<Path> file,
            Map<String, String> environment,
            List<Setting> settings,
            Supplier<List<Setting>> defaults) {
        this.file = file;
        this.environment = new TreeMap<>(environment);
        this.settings = List.copyOf(settings);
        this.defaults = defaults;
    }

    /**
     * Returns all of these, in their order of precedence.
     *
     * @param settings those that come later replace those that come earlier
     */
    public static ConfigSources of(Optional<Path> file, Map<String, String> environment, List<Setting> settings) {
        return new ConfigSources(file, environment, settings, List::of);
    }

    /** Returns these sources with values for keys that are not written, asked for at each reading. */
    public ConfigSources withDefaults(Supplier<List<Setting>> values) {
        return new ConfigSources(file, environment, settings, values);
    }

    /** Tells whether anything at all is written anywhere. */
    public boolean isEmpty() {
        return file.isEmpty()
                && settings.isEmpty()
                && environment.keySet().stream().noneMatch(ConfigSources::isKey);
    }

    /**
     * Returns a file of earlier versions in the form of this one, without comments and defaults.
     *
     * @throws ConfigException with the name of the file, where it cannot be read
     */
    public static String renewed(Path old) {
        String text = Yaml.text(old);
        try {
            return Yaml.printed(OldForm.renewed(Yaml.parsed(text)));
        } catch (ConfigException e) {
            throw e.in(old.toString());
        }
    }

    private static boolean isKey(String variable) {
        return variable.startsWith(PREFIX)
                && !OTHERS.contains(variable)
                && !ConfigTree.empty()
                        .find(Spelling.VARIABLE, variable.substring(PREFIX.length()))
                        .isEmpty();
    }

    Map<String, String> environment() {
        return environment;
    }

    /**
     * Reads all of it.
     *
     * @throws ConfigException in one sentence that names the key, where it was written, the cause and the mend
     */
    public EffectiveConfig read() {
        ConfigTree tree = merged(List.of());
        List<Path> found = files(tree);
        int listed = tree.root().path("engines").size();
        if (!found.isEmpty()) {
            tree = merged(found);
            requireFew(tree, tree.root().path("engines").size() - listed);
        }
        StateHome home = StateHome.of(environment);
        ObjectNode complete = tree.complete(home);
        SidecarConfig config = tree.read(complete, home);
        if (!found.isEmpty()) {
            withoutFound(complete);
        }
        return new EffectiveConfig(config, Yaml.printed(complete), lines(tree, config, home));
    }

    private static void requireFew(ConfigTree tree, int found) {
        int most = tree.root().path("discovery").path("mostEngines").asInt(MOST_FOUND);
        if (found > most) {
            throw tree.located(new ConfigException(
                    "discovery.mostEngines",
                    "is '" + most + "', and the files have " + found + " engines; write more, or take files away"));
        }
    }

    /** Leaves out the pattern of files, since the printed configuration has the engines that they gave. */
    private static void withoutFound(ObjectNode complete) {
        if (complete.path("discovery") instanceof ObjectNode discovery) {
            discovery.remove("file");
            if (!discovery.has("dns")) {
                complete.remove("discovery");
            }
        }
    }

    /**
     * Looks at the files, the variables and the state directory that a start would need; asks no engine.
     *
     * @throws ConfigException where it is not sound
     * @throws SidecarException with one sentence, where something that it names is missing
     */
    public void check() {
        SidecarConfig config = read().config();
        try {
            ApiTokens _ = ApiTokens.of(config.listen(), environment);
            if (config.listen().tls().isPresent()) {
                Object _ = PemFiles.server(config.listen().tls().get());
            }
            for (EngineConfig engine : config.engines()) {
                engine.requireFiles(environment);
                engine.holds().forEach(DeclaredHold::source);
            }
        } catch (IOException e) {
            throw new SidecarException(String.valueOf(e.getMessage()), e);
        } catch (ApiError e) {
            throw new SidecarException(e.sentence(), e);
        }
        if (!StateHome.canBeMade(config.stateDirectory())) {
            throw new SidecarException("The state directory "
                    + config.stateDirectory().toAbsolutePath()
                    + " cannot be written by this user; mend its permissions, or name another one as stateDirectory.");
        }
    }

    /**
     * Returns a value that differs when files differ by what they are links to, by time or by size: with discovery the
     * configuration's file and those that are found. Kubernetes changes a mounted ConfigMap by another link.
     */
    public List<Object> stamp() {
        ConfigTree tree = merged(List.of());
        List<Path> looked = new ArrayList<>(files(tree));
        if (tree.root().has("discovery")) {
            file.ifPresent(looked::add);
        }
        List<Object> stamp = new ArrayList<>();
        for (Path each : looked) {
            stamp.add(each);
            try {
                stamp.add(each.toRealPath());
                stamp.add(Files.getLastModifiedTime(each));
                stamp.add(Files.size(each));
            } catch (IOException e) {
                // It has just gone, and the next look finds it so.
                stamp.add(String.valueOf(e.getMessage()));
            }
        }
        return stamp;
    }

    private List<Path> files(ConfigTree tree) {
        JsonNode pattern = tree.root().path("discovery").path("file");
        if (!pattern.isTextual()) {
            return List.of();
        }
        String written = pattern.textValue();
        try {
            Path path = file.map(each -> each.toAbsolutePath().resolveSibling(written))
                    .orElse(Path.of(written));
            Path directory =
                    Optional.ofNullable(path.toAbsolutePath().getParent()).orElse(path);
            TreeSet<Path> found = new TreeSet<>();
            try (DirectoryStream<Path> stream =
                    Files.newDirectoryStream(directory, String.valueOf(path.getFileName()))) {
                stream.forEach(found::add);
            }
            return List.copyOf(found);
        } catch (NoSuchFileException | NotDirectoryException e) {
            return List.of();
        } catch (IOException | InvalidPathException e) {
            throw tree.located(new ConfigException(
                    "discovery.file",
                    "is " + ConfigException.shown(written) + ", which cannot be looked at (" + e
                            + "); write a pattern such as engines.d/*.yaml"));
        }
    }

    private ConfigTree merged(List<Path> found) {
        ConfigTree tree = file.map(each -> ConfigTree.of(Yaml.text(each), each.toString()))
                .orElseGet(ConfigTree::empty);
        found.forEach(each -> tree.addEngines(Yaml.text(each), each.toString()));
        List<String> unknown = new ArrayList<>();
        environment.forEach((variable, value) -> {
            boolean service = SERVICE.matcher(variable).matches()
                    || (variable.contains("_PORT") && LINK.matcher(value).matches());
            if (variable.startsWith(PREFIX) && !OTHERS.contains(variable) && !service) {
                String name = variable.substring(PREFIX.length());
                if (tree.find(Spelling.VARIABLE, name).isEmpty()) {
                    unknown.add(name);
                } else {
                    tree.set(Spelling.VARIABLE, name, value, new ConfigOrigin(variable, 0));
                }
            }
        });
        settings.forEach(each -> set(tree, each));
        Set<String> written = tree.written().keySet();
        defaults.get().stream().filter(each -> !written.contains(each.key())).forEach(each -> set(tree, each));
        // Secrets have their variables named by keys that a flag may have set.
        Set<String> secrets = secrets(tree.root());
        unknown.stream()
                .filter(name -> !secrets.contains(PREFIX + name))
                .findFirst()
                .ifPresent(name -> {
                    throw tree.unknown(Spelling.VARIABLE, name, PREFIX + name);
                });
        return tree;
    }

    private static void set(ConfigTree tree, Setting setting) {
        tree.set(Spelling.PATH, setting.key(), setting.value(), new ConfigOrigin(setting.typed(), 0));
    }

    /** Returns the variables that the configuration says secrets are in. */
    private static Set<String> secrets(JsonNode at) {
        Set<String> named = new TreeSet<>();
        at.properties().forEach(each -> {
            if (each.getKey().endsWith("Env") && each.getValue().isTextual()) {
                named.add(each.getValue().textValue());
            }
            named.addAll(secrets(each.getValue()));
        });
        return named;
    }

    private List<String> lines(ConfigTree tree, SidecarConfig config, StateHome home) {
        List<String> lines = new ArrayList<>();
        Map<String, Written> written = tree.written();
        if (!written.containsKey("stateDirectory")) {
            lines.add("stateDirectory = " + config.stateDirectory() + " (default: " + home.why() + ")");
            home.others()
                    .forEach(other -> lines.add("ledgers of an earlier start are in " + other
                            + " too; what they still list is said by /readyz, and released by holdfast ledger release"
                            + " --state-directory " + other));
        }
        written.forEach((key, each) -> {
            if (lines.size() < MOST_LINES) {
                lines.add(key + " = " + shown(key, each.value().asText()) + " ("
                        + each.origin().shown() + ")");
            }
        });
        if (written.size() > lines.size()) {
            lines.add("and " + (written.size() - lines.size()) + " more; --print-config shows all");
        }
        return lines;
    }

    /** Texts of holds are prompts, and what should be a variable's name may be the secret itself. */
    private String shown(String key, String value) {
        if (key.endsWith("Env") && !environment.containsKey(value)) {
            return "(a variable that is not set)";
        }
        if (key.contains(".holds.") && !key.endsWith(".file")) {
            return "(" + value.length() + " characters)";
        }
        return ConfigException.shown(value).replaceAll("^'|'$", "");
    }
}
