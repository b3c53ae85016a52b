import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.JavaFormatterOptions;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;

/**
 * The formatting gate: {@code check} fails when a source file is not as palantir-java-format would write it,
 * {@code apply} rewrites those files. Runs as a source file on the build's JDK, so that the formatter can parse every
 * language level that the compiler can.
 *
 * <p>Formatting costs tens of milliseconds a file, so files are formatted on all cores, and the file {@code KNOWN} keeps the
 * checksums of the texts that were found formatted: a text that stands there is not formatted again. Its first line is the
 * checksum of what decided, this program, the formatter and the JDK: another of these and all texts are checked anew.
 */
final class Format {
    private static final Set<String> SKIPPED = Set.of("target", ".git", ".mvn");

    private final boolean apply;
    private final Path root;
    private final Formatter formatter = Formatter.createFormatter(JavaFormatterOptions.builder()
            .style(JavaFormatterOptions.Style.PALANTIR)
            .formatJavadoc(false)
            .build());
    private final Set<String> faults = new ConcurrentSkipListSet<>();
    private final Set<String> formatted = ConcurrentHashMap.newKeySet();

    private Format(boolean apply, Path root) {
        this.apply = apply;
        this.root = root;
    }

    public static void main(String[] args) throws Exception {
        boolean apply = args.length == 3 && args[0].equals("apply");
        if (args.length != 3 || !(apply || args[0].equals("check"))) {
            System.err.println("usage: Format check|apply ROOT KNOWN");
            System.exit(2);
        }
        Format run = new Format(apply, Path.of(args[1]));
        Path known = Path.of(args[2]);
        String rules = run.rules();
        Set<String> before = read(known, rules);
        run.sources().parallelStream().forEach(source -> run.look(source, before));
        write(known, rules, run.formatted);
        if (!run.faults.isEmpty()) {
            run.faults.forEach(System.err::println);
            System.err.println("Format them with: ./mvnw -pl config -Pformat process-sources");
            System.exit(1);
        }
    }

    private void look(Path source, Set<String> known) {
        String name = root.relativize(source).toString();
        try {
            String text = Files.readString(source);
            String checksum = checksum(text);
            if (known.contains(checksum)) {
                formatted.add(checksum);
                return;
            }
            String wanted = formatter.formatSourceAndFixImports(text);
            if (wanted.equals(text)) {
                formatted.add(checksum);
            } else if (apply) {
                Files.writeString(source, wanted);
                System.out.println("formatted " + name);
            } else {
                faults.add(name + " is not formatted");
            }
        } catch (Exception e) {
            faults.add(name + " does not parse: " + e.getMessage());
        }
    }

    private String rules() throws IOException {
        return checksum(Files.readString(root.resolve("config").resolve("Format.java"))
                + Formatter.class.getProtectionDomain().getCodeSource().getLocation()
                + Runtime.version());
    }

    private static Set<String> read(Path known, String rules) throws IOException {
        List<String> lines = Files.exists(known) ? Files.readAllLines(known) : List.of();
        return lines.isEmpty() || !lines.getFirst().equals(rules) ? Set.of() : new HashSet<>(lines);
    }

    private static void write(Path known, String rules, Set<String> formatted) throws IOException {
        Files.createDirectories(known.toAbsolutePath().getParent());
        Files.writeString(known, rules + "\n" + String.join("\n", new TreeSet<>(formatted)) + "\n");
    }

    private static String checksum(String text) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every JDK has SHA-256.", e);
        }
    }

    private Set<Path> sources() throws IOException {
        Set<Path> found = new TreeSet<>();
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes) {
                return SKIPPED.contains(dir.getFileName().toString())
                        ? FileVisitResult.SKIP_SUBTREE
                        : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                if (file.toString().endsWith(".java")) {
                    found.add(file);
                }
                return FileVisitResult.CONTINUE;
            }
        });
        return found;
    }
}
