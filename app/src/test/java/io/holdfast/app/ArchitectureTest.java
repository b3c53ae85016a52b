package io.holdfast.app;

import static com.tngtech.archunit.core.domain.JavaAccess.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import io.holdfast.embed.FleetRunner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The house plan of docs/design.md, held against the compiled classes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ArchitectureTest {
    private JavaClasses ours;

    @BeforeAll
    void read() {
        ours = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .withImportOption(location -> !location.contains("-tests.jar"))
                .importPackages("io.holdfast");
    }

    @Test
    @DisplayName("arrows only go one way, from app down to evidence")
    void arrowsGoOneWay() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("app")
                .definedBy("io.holdfast.app..")
                .layer("sidecar")
                .definedBy("io.holdfast.sidecar..")
                .layer("loadtest")
                .definedBy("io.holdfast.loadtest..")
                .layer("workbench")
                .definedBy("io.holdfast.workbench..")
                .layer("emulator")
                .definedBy("io.holdfast.emulator..")
                .layer("rules")
                .definedBy("io.holdfast.rules..")
                .layer("sglang")
                .definedBy("io.holdfast.sglang..")
                .layer("vllm")
                .definedBy("io.holdfast.vllm..")
                .layer("kvcached")
                .definedBy("io.holdfast.kvcached..")
                .layer("embed")
                .definedBy("io.holdfast.embed..")
                .layer("valkey")
                .definedBy("io.holdfast.valkey..")
                .layer("http")
                .definedBy("io.holdfast.http..")
                .layer("events")
                .definedBy("io.holdfast.events..")
                .layer("core")
                .definedBy("io.holdfast.core..")
                // What a look at an engine and a replay found, of which app makes words.
                .layer("heads")
                .definedBy("io.holdfast.core.head..")
                .layer("findings")
                .definedBy("io.holdfast.core.look..")
                .layer("evidence")
                .definedBy("io.holdfast.evidence..")
                .whereLayer("app")
                .mayOnlyAccessLayers(
                        "sidecar",
                        "loadtest",
                        "workbench",
                        "emulator",
                        "rules",
                        "valkey",
                        "heads",
                        "findings",
                        "evidence")
                .whereLayer("sidecar")
                .mayOnlyAccessLayers(
                        "valkey", "embed", "sglang", "vllm", "kvcached", "http", "events", "core", "evidence")
                .whereLayer("loadtest")
                .mayOnlyAccessLayers("sglang", "vllm", "http", "events", "core", "evidence")
                .whereLayer("workbench")
                .mayOnlyAccessLayers("loadtest", "rules", "kvcached", "http", "events", "core", "evidence")
                .whereLayer("emulator")
                .mayOnlyAccessLayers("rules", "events", "core")
                .whereLayer("rules")
                .mayOnlyAccessLayers("events", "core")
                .whereLayer("sglang")
                .mayOnlyAccessLayers("http", "core")
                .whereLayer("vllm")
                .mayOnlyAccessLayers("http", "core")
                .whereLayer("kvcached")
                .mayNotAccessAnyLayer()
                .whereLayer("http")
                .mayNotAccessAnyLayer()
                .whereLayer("valkey")
                .mayOnlyAccessLayers("embed")
                .whereLayer("embed")
                .mayOnlyAccessLayers("events", "core")
                .whereLayer("events")
                .mayOnlyAccessLayers("core")
                .whereLayer("core")
                .mayOnlyAccessLayers("evidence")
                .whereLayer("evidence")
                .mayNotAccessAnyLayer()
                .check(ours);
    }

    @Test
    @DisplayName("no package depends on itself in a circle")
    void packagesHaveNoCycles() {
        slices().matching("io.holdfast.(**)").should().beFreeOfCycles().check(ours);
    }

    @ParameterizedTest
    @ValueSource(strings = {"core", "sidecar", "loadtest", "workbench", "app"})
    @DisplayName("each room of a module knows only those above it in docs/design.md")
    void roomsKnowThoseAboveThem(String module) throws IOException {
        List<String> rooms = Files.readAllLines(Path.of("..", "docs", "design.md")).stream()
                .map(Pattern.compile("\\| `(" + module + "(?:\\.[a-z]+)?)` \\|.*")::matcher)
                .filter(Matcher::matches)
                .map(row -> "io.holdfast." + row.group(1))
                .toList();
        Set<String> there = ours.stream()
                .map(JavaClass::getPackageName)
                .filter(name -> (name + ".").startsWith("io.holdfast." + module + "."))
                .collect(Collectors.toSet());
        assertThat(rooms).containsExactlyInAnyOrderElementsOf(there);
        for (int i = 0; i + 1 < rooms.size(); i++) {
            noClasses()
                    .that()
                    .resideInAPackage(rooms.get(i))
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(rooms.subList(i + 1, rooms.size()).toArray(String[]::new))
                    .check(ours);
        }
    }

    @Test
    @DisplayName("no package has more than 45 files, so that a newcomer finds the room")
    void packagesAreSmall() {
        Map<String, Long> sizes = ours.stream()
                .filter(type -> !type.isNestedClass() && !type.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
        assertThat(sizes).allSatisfy((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(45));
    }

    @Test
    @DisplayName("evidence depends on the JDK alone")
    void evidenceDependsOnNothing() {
        onlyDependOn("io.holdfast.evidence..", "java..", "org.jspecify..", "io.holdfast.evidence..")
                .check(ours);
    }

    @Test
    @DisplayName("the core knows no I/O, no Vert.x, no JeroMQ, no msgpack")
    void coreDependsOnLittle() {
        onlyDependOn(
                        "io.holdfast.core..",
                        "java.lang..",
                        "java.util..",
                        "java.time..",
                        "java.io",
                        // Byte order and character sets; files and sockets are in the packages below.
                        "java.nio",
                        "java.nio.charset",
                        "org.jspecify..",
                        "org.slf4j..",
                        "com.github.benmanes.caffeine..",
                        "io.holdfast.core..",
                        "io.holdfast.evidence..")
                .check(ours);
        noClasses()
                .that()
                .resideInAPackage("io.holdfast.core..")
                .should()
                .dependOnClassesThat(inJavaIoButNot("IOException", "UncheckedIOException"))
                .check(ours);
    }

    @Test
    @DisplayName("what a router embeds brings the core and the event stream, and no library of its own")
    void embedDependsOnLittle() {
        onlyDependOn(
                        "io.holdfast.embed..",
                        "java..",
                        "org.jspecify..",
                        "org.slf4j..",
                        "io.holdfast.embed..",
                        "io.holdfast.events..",
                        "io.holdfast.core..")
                .check(ours);
    }

    @Test
    @DisplayName("the engines' rules know no socket, no file, no JSON and no foreign memory")
    void rulesDoNoInputOrOutput() {
        onlyDependOn(
                        "io.holdfast.rules..",
                        "java.lang",
                        "java.lang.invoke",
                        "java.lang.runtime",
                        "java.math",
                        "java.util..",
                        "java.time..",
                        // Byte order and character sets, and the name of a segment that somebody else opens.
                        "java.nio",
                        "java.nio.charset",
                        "java.nio.file",
                        "java.security",
                        "org.jspecify..",
                        "org.slf4j..",
                        "io.holdfast.rules..",
                        "io.holdfast.events..",
                        "io.holdfast.core..")
                .check(ours);
        noClasses()
                .that()
                .resideInAPackage("io.holdfast.rules..")
                .should()
                .dependOnClassesThat()
                .areAssignableTo(Files.class)
                .check(ours);
    }

    @Test
    @DisplayName(
            "Vert.x lives in the processes, Lettuce behind the store, msgpack behind the event stream, JeroMQ in the"
                    + " emulator")
    void librariesStayInTheirRooms() {
        noClasses()
                .that()
                .resideOutsideOfPackages(
                        "io.holdfast.emulator..",
                        "io.holdfast.sidecar..",
                        "io.holdfast.loadtest..",
                        "io.holdfast.workbench..",
                        "io.holdfast.valkey..",
                        "io.holdfast.app..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.vertx..", "io.netty..")
                .check(ours);
        noClasses()
                .that()
                .resideOutsideOfPackage("io.holdfast.valkey..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.lettuce..", "reactor..")
                .check(ours);
        onlyDependOn(
                        "io.holdfast.valkey..",
                        "java..",
                        "javax.net.ssl",
                        "org.jspecify..",
                        "org.slf4j..",
                        "io.lettuce..",
                        "io.netty..",
                        "io.holdfast.embed.cell..",
                        "io.holdfast.valkey..")
                .check(ours);
        noClasses()
                .that()
                .resideOutsideOfPackages("io.holdfast.events..", "io.holdfast.emulator..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.msgpack..")
                .check(ours);
        noClasses()
                .that()
                .resideOutsideOfPackage("io.holdfast.emulator..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("org.zeromq..")
                .check(ours);
        noClasses()
                .that()
                .resideOutsideOfPackage("io.holdfast.app..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("picocli..", "ch.qos.logback..")
                .check(ours);
    }

    @Test
    @DisplayName("libraries take no clock, random source, thread or executor from the air, and print nothing")
    void nothingIsTakenFromTheAir() {
        String[] libraries = {
            "io.holdfast.evidence..",
            "io.holdfast.core..",
            "io.holdfast.events..",
            "io.holdfast.embed..",
            "io.holdfast.http..",
            "io.holdfast.sglang..",
            "io.holdfast.vllm..",
            "io.holdfast.kvcached..",
            "io.holdfast.valkey..",
            "io.holdfast.rules.."
        };
        noClasses()
                .that()
                .resideInAnyPackage(libraries)
                // It starts the thread that the embedder's factory made.
                .and()
                .areNotAssignableTo(FleetRunner.class)
                .should()
                .callMethod(System.class, "currentTimeMillis")
                .orShould()
                .callMethod(System.class, "nanoTime")
                .orShould()
                .callMethod(Instant.class, "now")
                .orShould()
                .callMethod(ThreadLocalRandom.class, "current")
                .orShould()
                .dependOnClassesThat()
                .areAssignableTo(Executors.class)
                .orShould()
                .callMethod(Thread.class, "start")
                .orShould()
                .accessField(System.class, "out")
                .orShould()
                .accessField(System.class, "err")
                .check(ours);
    }

    @Test
    @DisplayName("nobody keeps mutable state in a static field")
    void noStaticState() {
        noClasses().should(haveMutableStaticFields()).check(ours);
    }

    @Test
    @DisplayName("every package says what it is for and rules null out")
    void packagesAreNullMarked() {
        assertThat(ours.stream().map(JavaClass::getPackage).distinct())
                .allSatisfy(place -> assertThat(place.tryGetAnnotationOfType(NullMarked.class))
                        .as(place.getName())
                        .isPresent());
    }

    @Test
    @DisplayName("segments in shared memory are read and listed, and none is ever made or removed")
    void segmentsAreNeverMadeOrRemoved() {
        noClasses()
                .that()
                .resideInAnyPackage("io.holdfast.kvcached..", "io.holdfast.workbench.bed..")
                .and()
                .doNotHaveSimpleName("MachineTools")
                .should()
                .callMethodWhere(
                        target(owner(assignableTo(Files.class))).and(target(nameMatching("delete.*|create.*"))))
                .check(ours);
    }

    @Test
    @DisplayName("the rules look at real classes of every module")
    void everyModuleIsSeen() {
        assertThat(Stream.of(
                        "evidence",
                        "core",
                        "core.index",
                        "events",
                        "http",
                        "sglang",
                        "vllm",
                        "kvcached",
                        "embed",
                        "embed.ledger",
                        "embed.cell",
                        "valkey",
                        "rules.engine",
                        "rules.fault",
                        "emulator",
                        "sidecar.engine",
                        "loadtest",
                        "workbench.load",
                        "app"))
                .allSatisfy(room -> assertThat(ours.stream()
                                .filter(type -> type.getPackageName().equals("io.holdfast." + room))
                                .count())
                        .as(room)
                        .isGreaterThan(1));
    }

    @Test
    @DisplayName("a segment of kvcached is an engine's: nothing here creates, cuts or removes one")
    void segmentsAreOpenedByName() throws IOException {
        noClasses()
                .that()
                .resideInAPackage("io.holdfast.kvcached..")
                .should()
                .callMethodWhere(DescribedPredicate.describe("make, cut, move or remove a file", call -> {
                    String owner = call.getTargetOwner().getName();
                    String method = call.getName();
                    return owner.equals("java.nio.file.Files")
                            && method.matches(
                                    "(create|delete|write|move|copy|new(OutputStream|ByteChannel|BufferedWriter)).*");
                }))
                .orShould()
                .accessFieldWhere(DescribedPredicate.describe(
                        "open a file for more than reading",
                        access -> access.getTargetOwner().getName().equals("java.nio.file.StandardOpenOption")
                                && !access.getName().equals("READ")))
                .orShould()
                .dependOnClassesThat(inJavaIoButNot("IOException", "UncheckedIOException"))
                .check(ours);
        // What it calls of the system besides: open without O_CREAT and O_TRUNC, and nothing that unlinks.
        String posix =
                Files.readString(Path.of("..", "adapters-kvcached/src/main/java/io/holdfast/kvcached/Posix.java"));
        assertThat(Pattern.compile("function\\(\"(\\w+)\"")
                        .matcher(posix)
                        .results()
                        .map(called -> called.group(1)))
                .isNotEmpty()
                .isSubsetOf("open", "flock", "lseek", "pread", "pwrite", "close");
        assertThat(posix).contains("READ_AND_WRITE | CLOSE_ON_EXEC)").doesNotContain("CREAT");
    }

    @Test
    @DisplayName("what is public is meant to be used: no public mutable field anywhere")
    void noPublicMutableFields() {
        noClasses().should(havePublicMutableFields()).check(ours);
    }

    private static ArchRule onlyDependOn(String place, String... allowed) {
        return classes()
                .that()
                .resideInAPackage(place)
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(allowed);
    }

    private static DescribedPredicate<JavaClass> inJavaIoButNot(String... allowed) {
        return DescribedPredicate.describe(
                "do I/O",
                type -> type.getPackageName().equals("java.io")
                        && Stream.of(allowed).noneMatch(type.getSimpleName()::equals)
                        && !type.getSimpleName().equals("Serializable"));
    }

    private static ArchCondition<JavaClass> haveMutableStaticFields() {
        return haveFields("static and not final", modifiers -> modifiers.contains(JavaModifier.STATIC));
    }

    private static ArchCondition<JavaClass> havePublicMutableFields() {
        return haveFields("public and not final", modifiers -> modifiers.contains(JavaModifier.PUBLIC));
    }

    /** ArchUnit has conditions on all fields of a class, none on any of them. */
    private static ArchCondition<JavaClass> haveFields(String words, Predicate<Set<JavaModifier>> wanted) {
        return new ArchCondition<>("have fields that are " + words) {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                type.getFields().stream()
                        .filter(field -> wanted.test(field.getModifiers()))
                        .filter(field -> !field.getModifiers().contains(JavaModifier.FINAL))
                        .filter(field -> !field.getModifiers().contains(JavaModifier.SYNTHETIC))
                        .forEach(field -> events.add(
                                SimpleConditionEvent.satisfied(field, field.getFullName() + " is " + words)));
            }
        };
    }
}
