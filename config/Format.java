import com.palantir.javaformat.java.Formatter;
import com.palantir.javaformat.java.JavaFormatterOptions;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * The formatting gate: {@code check} fails when a source file is not as palantir-java-format would write it,
 * {@code apply} rewrites those files. Runs as a source file on the build's JDK, so that the formatter can parse every
 * language level that the compiler can.
 */
final class Format {
    private static final Set<String> SKIPPED = Set.of("target", ".git", ".mvn");

    public static void main(String[] args) throws Exception {
        boolean apply = args.length == 2 && args[0].equals("apply");
        if (args.length != 2 || !(apply || args[0].equals("check"))) {
            System.err.println("usage: Format check|apply ROOT");
            System.exit(2);
        }
        Path root = Path.of(args[1]);
        Formatter formatter = Formatter.createFormatter(JavaFormatterOptions.builder()
                .style(JavaFormatterOptions.Style.PALANTIR)
                .formatJavadoc(false)
                .build());
        List<String> faults = new ArrayList<>();
        for (Path source : sources(root)) {
            String text = Files.readString(source);
            String formatted;
            try {
                formatted = formatter.formatSourceAndFixImports(text);
            } catch (Exception e) {
                faults.add(root.relativize(source) + " does not parse: " + e.getMessage());
                continue;
            }
            if (formatted.equals(text)) {
                continue;
            }
            if (apply) {
                Files.writeString(source, formatted);
                System.out.println("formatted " + root.relativize(source));
            } else {
                faults.add(root.relativize(source) + " is not formatted");
            }
        }
        if (!faults.isEmpty()) {
            faults.forEach(System.err::println);
            System.err.println("Format them with: ./mvnw -N -Pformat process-sources");
            System.exit(1);
        }
    }

    private static Set<Path> sources(Path root) throws Exception {
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
