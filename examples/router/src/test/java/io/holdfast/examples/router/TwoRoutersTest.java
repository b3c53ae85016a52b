package io.holdfast.examples.router;

import static org.assertj.core.api.Assertions.assertThat;

import io.holdfast.core.index.ViewSnapshot;
import io.holdfast.emulator.Emulator;
import io.holdfast.emulator.EmulatorSettings;
import io.holdfast.emulator.Endpoints;
import io.holdfast.emulator.api.Tokenizer;
import io.vertx.core.Vertx;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that route to the same engines, of which one is killed, beside engines that repeat only their last batches. */
class TwoRoutersTest {
    private static final int BLOCK = 16;
    private static final int PROMPTS = 24;
    private static final int WHOLE = 64;
    /** Fewer than one engine makes of its half of the prompts. */
    private static final int REPEATS = 6;

    @TempDir
    private Path directory;

    @Test
    void restartedRouter_answersAsTheOneThatLivedOn() throws Exception {
        EmulatorSettings settings = EmulatorSettings.defaults()
                .withTokenizer(Tokenizer.named("words"))
                .withPageTokens(BLOCK)
                .withCapacityTokens(1 << 14)
                .withPrefillMicrosPerToken(0)
                .withFirstTokenMicros(0)
                .withDecodeMillis(0)
                .withEndpoints(Endpoints.FREE.withReplay(0).withRepeats(REPEATS));
        Vertx vertx = Vertx.vertx();
        List<Emulator> engines =
                Stream.generate(() -> Emulator.start(vertx, settings)).limit(2).toList();
        Random random = new Random(1);
        List<int[]> prompts =
                Stream.generate(() -> prompt(random)).limit(PROMPTS).toList();
        try (HttpClient http = HttpClient.newHttpClient();
                RouterProcess first = new RouterProcess(engines, true);
                RouterProcess second = new RouterProcess(engines, true)) {
            for (Emulator each : engines) {
                // A cache that never stored anything is not known to be empty.
                Main.forward(http, each.uri(), prompt(random));
            }
            first.knowAll();
            second.knowAll();
            prompts.forEach(first::know);
            prompts.forEach(second::know);
            List<String> known = first.answers(prompts);
            assertThat(known.stream().map(answer -> answer.split(" ")[0]).distinct())
                    .as("both engines have some")
                    .hasSize(2);
            assertThat(second.answers(prompts)).isEqualTo(known);
            Eventually.see("all of it is written", () -> written() >= PROMPTS * WHOLE / BLOCK);

            second.kill();

            try (RouterProcess again = new RouterProcess(engines, true);
                    RouterProcess without = new RouterProcess(engines, false)) {
                again.knowAll();
                assertThat(again.answers(prompts)).isEqualTo(known);
                assertThat(first.answers(prompts)).as("nothing went elsewhere").isEqualTo(known);

                without.know(prompt(random));
                assertThat(without.answers(prompts)).isNotEqualTo(known);
                assertThat(without.end()).isEqualTo("%1$d of %1$d decisions were blind.".formatted(without.asked));
                assertThat(again.end()).matches("\\d+ of %d decisions were blind\\.".formatted(again.asked));
            }
        } finally {
            engines.forEach(Emulator::close);
            vertx.close().toCompletionStage().toCompletableFuture().join();
        }
    }

    private static int[] prompt(Random random) {
        return random.ints(WHOLE + 1, 0, 30_000).toArray();
    }

    /** Blocks in the views that are there. */
    private int written() {
        int blocks = 0;
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".view")).toList()) {
                blocks += ViewSnapshot.decode(Files.readAllBytes(file)).blocks();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return blocks;
    }

    /** The example, started as its users do. */
    private final class RouterProcess implements AutoCloseable {
        private final Process process;
        private final PrintStream in;
        private final BufferedReader out;
        private int asked;

        RouterProcess(List<Emulator> engines, boolean views) throws IOException {
            List<String> command = new ArrayList<>(List.of(
                    Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                    "-XX:+UseSerialGC",
                    "-XX:TieredStopAtLevel=1",
                    "-Xmx128m",
                    "-Dslf4j.internal.verbosity=ERROR",
                    "-cp",
                    System.getProperty("java.class.path"),
                    Main.class.getName()));
            if (views) {
                command.addAll(List.of("--views", directory.toString()));
            }
            command.add(Integer.toString(BLOCK));
            for (Emulator each : engines) {
                command.addAll(List.of(
                        "sglang",
                        each.uri().toString(),
                        each.eventsEndpoint() + "," + each.replayEndpoint().orElseThrow()));
            }
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            in = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
            out = process.inputReader(StandardCharsets.UTF_8);
        }

        /** Where a prompt went, and how much of it was known to be there. */
        String answer(int[] prompt) {
            asked++;
            in.println(Arrays.stream(prompt).mapToObj(Integer::toString).collect(Collectors.joining(" ")));
            try {
                String line = out.readLine();
                assertThat(line).as("the router lives").isNotNull();
                return line.substring(0, line.indexOf(": {"));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        List<String> answers(List<int[]> prompts) {
            return prompts.stream().map(this::answer).toList();
        }

        /** Asks what stores nothing until it is certain what the engines have. */
        void knowAll() {
            Eventually.see(
                    "it is certain what the engines have",
                    () -> !answer(new int[1]).contains("as far as is known"));
        }

        /** Asks until all of it is known to be somewhere. */
        void know(int[] prompt) {
            Eventually.see(
                    "it is heard what an engine stores", () -> answer(prompt).contains(" holds " + WHOLE + " of "));
        }

        void kill() {
            process.destroyForcibly();
            process.onExit().join();
        }

        /** Ends its input, and returns what it says then. */
        String end() throws IOException {
            in.close();
            String last = out.readLine();
            process.onExit().join();
            return last;
        }

        @Override
        public void close() {
            kill();
        }
    }
}
