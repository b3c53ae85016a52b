package io.holdfast.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.holdfast.app.cli.ExitCode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The launcher, a copy of it beside a Maven and a JDK that are scripts: builds of starts that are killed, and archives of classes. */
class LauncherTest {
    private static final String WAITS = "holdfast: another start is building; waiting for it ...";
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** Tells its process and its child's, and ends well as soon as the file {@code go} is there. */
    private static final String MAVEN = """
        #!/usr/bin/env bash
        sleep 1000 &
        echo "$$ $!" >>builds
        until [ -e go ]; do sleep 0.05; done
        kill $!
        mkdir -p app/target/holdfast/lib
        """;

    /** Everything that the launcher runs but {@code flock}. */
    private static final String TOOLS =
            "bash cat cksum cp date dirname env find grep ln mkdir mv ps readlink rm sleep tail tr";

    @TempDir
    Path home;

    private final List<Process> started = new ArrayList<>();

    @BeforeEach
    void layOut() throws IOException {
        for (String folder : List.of("jdk/bin", ".mvn", "app/src/main", "tools")) {
            Files.createDirectories(home.resolve(folder));
        }
        Files.createFile(home.resolve("pom.xml"));
        Files.writeString(home.resolve("jdk/release"), "JAVA_VERSION=\"25.0.1\"\n");
        script("jdk/bin/java", "#!/bin/sh\necho started\n");
        script("mvnw", MAVEN);
        script("holdfast", Files.readString(Path.of("..", "holdfast")));
        Path options = Files.createDirectories(home.resolve("app/src/main/jvm"));
        for (String file : List.of("common.options", "sidecar.options")) {
            Files.copy(Path.of("src/main/jvm", file), options.resolve(file));
        }
        for (String tool : TOOLS.split(" ", -1)) {
            Files.createSymbolicLink(home.resolve("tools").resolve(tool), onPath(tool));
        }
    }

    @AfterEach
    void end() throws IOException {
        go();
        started.forEach(Process::destroyForcibly);
        started.forEach(process -> process.onExit().join());
        builds().flatMap(Arrays::stream).forEach(process -> process.onExit().join());
    }

    @ParameterizedTest
    @CsvSource({"TERM, true", "INT, true", "HUP, true", "KILL, true", "TERM, false", "KILL, false"})
    void killedStart_endsItsBuildAndTheNextIsNotStuck(String signal, boolean flock) throws Exception {
        assumeTrue(!flock || Files.exists(onPath("flock")), "flock is not installed");
        Process first = start(flock);
        ProcessHandle[] build = awaitBuild(1);

        assertThat(new ProcessBuilder("kill", "-" + signal, Long.toString(first.pid()))
                        .start()
                        .waitFor())
                .isZero();

        assertThat(first.waitFor()).isNotZero();
        for (ProcessHandle process : build) {
            process.onExit().join();
        }
        Process next = start(flock);
        awaitBuild(2);
        go();
        assertThat(next.waitFor()).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void secondStart_saysThatItWaitsAndBuildsNothing(boolean flock) throws Exception {
        assumeTrue(!flock || Files.exists(onPath("flock")), "flock is not installed");
        Process first = start(flock);
        awaitBuild(1);
        Process second = start(flock);
        try (BufferedReader said = second.errorReader(StandardCharsets.UTF_8)) {
            assertThat(said.readLine()).isEqualTo(WAITS);
            go();

            assertThat(first.waitFor()).isZero();
            assertThat(second.waitFor()).isZero();
            assertThat(said.readLine()).isNull();
        }
        assertThat(second.inputReader(StandardCharsets.UTF_8).readLine()).isEqualTo("started");
        assertThat(builds()).hasSize(1);
    }

    @Test
    void failedBuild_exitsTwoAndNamesItsLog() throws Exception {
        script("mvnw", "#!/bin/sh\necho '[ERROR] no such symbol'\nexit 1\n");

        Process start = start(true);

        assertThat(start.waitFor()).isEqualTo(ExitCode.BAD_INPUT);
        try (BufferedReader said = start.errorReader(StandardCharsets.UTF_8)) {
            assertThat(said.lines().skip(1))
                    .containsExactly(
                            "[ERROR] no such symbol",
                            "holdfast: the build failed; the whole of it is in " + home.toRealPath()
                                    + "/.holdfast/build.log.");
        }
    }

    @Test
    void folderThatCannotBeWritten_startsWithoutAnArchiveAndEndsWell() throws Exception {
        List<String> user = new ArrayList<>();
        if (Files.getOwner(home).getName().equals("root")) {
            assumeTrue(Files.exists(onPath("setpriv")), "root may write anywhere, and setpriv is not installed");
            user.addAll(List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"));
        }
        Path lib = built();
        compile(lib);
        for (Path folder : List.of(home, home.resolve(".holdfast"), lib)) {
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("r-xr-xr-x"));
        }

        CommandRun told = launch(user, Path.of(System.getProperty("java.home")));

        // Else JUnit cannot delete it.
        for (Path folder : List.of(home, home.resolve(".holdfast"), lib)) {
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        }
        assertThat(told).isEqualTo(new CommandRun(0, "started --version\n", ""));
        assertThat(lib.toFile().list()).containsExactly("holdfast.jar");
    }

    @Test
    void archiveOfClasses_isOfTheJdkThatMadeIt() throws Exception {
        Path lib = built();
        compile(lib);
        Path jdk = Path.of(System.getProperty("java.home"));

        assertThat(launch(List.of(), jdk).code()).isZero();

        List<String> made = archives(lib);
        assertThat(made).hasSize(1);
        // What it is called by says which build a JDK is, also where two have one version.
        script("jdk/bin/java", "#!/bin/sh\necho \"$@\"\n");
        Files.writeString(home.resolve("jdk/release"), Files.readString(jdk.resolve("release")));
        assertThat(launch(List.of(), home.resolve("jdk")).out()).contains(lib.resolve(made.getFirst()) + " ");
        Files.writeString(home.resolve("jdk/release"), "IMPLEMENTOR=\"Another\"\n", StandardOpenOption.APPEND);
        assertThat(launch(List.of(), home.resolve("jdk")).out()).doesNotContain(made.getFirst());
    }

    private static List<String> archives(Path lib) {
        return Stream.of(lib.toFile().list())
                .filter(name -> name.endsWith(".jsa"))
                .toList();
    }

    /** A folder of libraries, as a build leaves it. */
    private Path built() throws IOException {
        Files.delete(home.resolve(".mvn"));
        Path lib = Files.createDirectories(home.resolve(".holdfast/lib-1"));
        Files.writeString(home.resolve(".holdfast/built"), "lib-1\n");
        return lib.toRealPath();
    }

    /** A program in place of the true one. */
    private void compile(Path lib) throws Exception {
        Path source = Files.writeString(home.resolve("Holdfast.java"), """
            package io.holdfast.app;

            public class Holdfast {
                public static void main(String[] arguments) {
                    System.out.println("started " + String.join(" ", arguments));
                }
            }
            """);
        Path classes = Files.createDirectories(home.resolve("classes"));
        assertThat(ToolProvider.findFirst("javac")
                        .orElseThrow()
                        .run(System.out, System.err, "-d", classes.toString(), source.toString()))
                .isZero();
        assertThat(ToolProvider.findFirst("jar")
                        .orElseThrow()
                        .run(
                                System.out,
                                System.err,
                                "cf",
                                lib.resolve("holdfast.jar").toString(),
                                "-C",
                                classes.toString(),
                                "."))
                .isZero();
    }

    private CommandRun launch(List<String> before, Path jdk) throws Exception {
        List<String> command = new ArrayList<>(before);
        command.addAll(List.of(home.resolve("holdfast").toString(), "--version"));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment().put("HOLDFAST_JAVA_HOME", jdk.toString());
        Process process = builder.start();
        started.add(process);
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        return new CommandRun(process.waitFor(), out, err);
    }

    private Process start(boolean flock) throws IOException {
        // What started the tests may ignore signals, and a child inherits that.
        ProcessBuilder builder = new ProcessBuilder(
                "env", "--default-signal=INT,HUP,TERM", home.resolve("holdfast").toString(), "--version");
        builder.environment().put("HOLDFAST_JAVA_HOME", home.resolve("jdk").toString());
        if (!flock) {
            builder.environment().put("PATH", home.resolve("tools").toString());
        }
        Process process = builder.start();
        started.add(process);
        return process;
    }

    private ProcessHandle[] awaitBuild(int number) {
        while (builds().count() < number) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return builds().skip(number - 1L).findFirst().orElseThrow();
    }

    /** The processes of each build that began, those of them that still run. */
    private Stream<ProcessHandle[]> builds() {
        Path builds = home.resolve("builds");
        try {
            return (Files.exists(builds) ? Files.readAllLines(builds) : List.<String>of())
                    .stream()
                            .map(line -> Arrays.stream(line.split(" ", -1))
                                    .map(Long::parseLong)
                                    .flatMap(pid -> ProcessHandle.of(pid).stream())
                                    .toArray(ProcessHandle[]::new));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void go() throws IOException {
        Path go = home.resolve("go");
        if (!Files.exists(go)) {
            Files.createFile(go);
        }
    }

    private void script(String name, String text) throws IOException {
        Path script = Files.writeString(home.resolve(name), text);
        assertThat(script.toFile().setExecutable(true)).isTrue();
    }

    private static Path onPath(String tool) {
        return Stream.of(System.getenv("PATH").split(":", -1))
                .map(folder -> Path.of(folder, tool))
                .filter(Files::isExecutable)
                .findFirst()
                .orElse(Path.of("/nowhere", tool));
    }
}
