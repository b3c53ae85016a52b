package io.holdfast.emulator.wire;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.holdfast.rules.fault.Faults;
import io.holdfast.rules.testing.Recording;
import java.io.IOException;
import java.net.URISyntaxException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What real servers published, published again from the events alone: the same bytes under the same numbers. */
final class PublishedBytesTest {
    /** The recordings of servers among the test resources, and in the directory that {@code -Dholdfast.golden} names. */
    static Stream<String> recordings() throws IOException, URISyntaxException {
        URL directory = Objects.requireNonNull(Recording.class.getResource("/io/holdfast/rules/recordings"));
        try (Stream<Path> files = Files.list(Path.of(directory.toURI()))) {
            String[] names = files.map(file -> file.getFileName().toString())
                    .filter(name -> name.endsWith(".jsonl.gz"))
                    .sorted()
                    .toArray(String[]::new);
            List<String> servers = Recording.all(_ -> true, names)
                    .filter(name -> ofAServer(Recording.read(name).getFirst()))
                    .toList();
            assertThat(servers).hasSizeGreaterThan(5);
            return servers.stream();
        }
    }

    private static boolean ofAServer(JsonNode header) {
        return header.has("kv_events") || (header.path("type").asText().equals("server") && header.has("topic"));
    }

    @ParameterizedTest
    @MethodSource("recordings")
    void recordedEvents_givenToThePublisher_areTheRecordedBytes(String recording) {
        List<RecordedFrame> frames = RecordedFrame.of(Recording.read(recording));
        SetClock clock = new SetClock();
        EventSettings settings = EventSettings.of(0, frames.getFirst().dialect())
                .withReplay(OptionalInt.of(0))
                .withTopic("kv@localhost@m");
        try (EventPublisher publisher = new EventPublisher(settings, 0, Faults.none(), clock, new SplittableRandom(1));
                Ear ear = new Ear()) {
            List<List<String>> expected = new ArrayList<>();
            for (RecordedFrame frame : frames) {
                int number = expected.size();
                assertThat(frame.sequence() - frames.getFirst().sequence()).isEqualTo(number);
                clock.stamp(frame.stamp());
                publisher.publish(frame.events());
                List<String> answer = new ArrayList<>(
                        List.of("", Ear.hex("kv@localhost@m"), String.format("%016x", number), frame.hex()));
                if (!settings.dialect().maps()) {
                    answer.remove(1);
                }
                expected.add(answer);
            }
            expected.add(settings.dialect().maps() ? List.of("", "", Ear.END, "") : List.of("", Ear.END, ""));
            // A question may overtake batches that the publisher's thread has not seen yet, as with a real engine.
            List<List<String>> answers = ear.ask(publisher, new byte[0], Ear.number(0));
            while (answers.size() < expected.size()) {
                answers = ear.ask(publisher, new byte[0], Ear.number(0));
            }
            assertThat(answers).isEqualTo(expected);
        }
    }
}
