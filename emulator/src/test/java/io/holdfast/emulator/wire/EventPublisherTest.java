package io.holdfast.emulator.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.holdfast.core.index.Tier;
import io.holdfast.emulator.process.EmulatorException;
import io.holdfast.emulator.process.MachineClock;
import io.holdfast.emulator.wire.Ear.Listener;
import io.holdfast.emulator.wire.Ear.Message;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.fault.Faults;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;

/** The event sockets as plain subscribers and askers find them. */
final class EventPublisherTest {
    private static final byte[] DELIMITER = {};

    private final Ear ear = new Ear();

    @AfterEach
    void hangUp() {
        ear.close();
    }

    @Test
    void subscriber_hearsEachBatchOnce_underTopicAndNumber() {
        try (EventPublisher publisher =
                publisher(EventSettings.of(0, Dialect.SGLANG_MAPS).withTopic("kv@host@model"))) {
            Listener listener = ear.joined(publisher);
            publisher.publish(removed(7));
            publisher.publish(List.of());
            publisher.publish(removed(8));
            List<Message> heard = listener.hear(2);
            assertThat(heard).extracting(Message::topic).containsOnly("kv@host@model");
            assertThat(heard).extracting(Message::sequence).containsExactly(listener.next(), listener.next() + 1);
            assertThat(heard.getFirst().payload()).isNotEqualTo(heard.getLast().payload());
            assertThat(listener.hearsNothing()).isTrue();
        }
    }

    @Test
    void subscriberWhoComesLater_lostWhatWasSaidBefore_andCanAskForIt() {
        try (EventPublisher publisher = publisher(replaying(Dialect.SGLANG_MAPS))) {
            publisher.publish(removed(1));
            publisher.publish(removed(2));
            // Answered, so both have been sent by now.
            askUntil(publisher, 3);
            Listener listener = ear.joined(publisher);
            assertThat(listener.next()).isGreaterThan(2);
            publisher.publish(removed(3));
            Message live = listener.hear();
            List<List<String>> answers = ear.ask(publisher, DELIMITER, Ear.number(live.sequence()));
            assertThat(answers)
                    .containsExactly(
                            List.of("", "", String.format("%016x", live.sequence()), live.payload()),
                            List.of("", "", Ear.END, ""));
        }
    }

    @ParameterizedTest
    @EnumSource(Dialect.class)
    void pastBatches_areRepeatedFromTheNumberOn(Dialect dialect) {
        List<String> end = dialect.maps() ? List.of("", "", Ear.END, "") : List.of("", Ear.END, "");
        try (EventPublisher publisher = publisher(replaying(dialect).withTopic("kv"))) {
            assertThat(ear.ask(publisher, DELIMITER, Ear.number(0)))
                    .as("a life that has said nothing")
                    .containsExactly(end);
            for (int i = 0; i < 5; i++) {
                publisher.publish(removed(i));
            }
            List<List<String>> all = askUntil(publisher, 6);
            for (int i = 0; i < 5; i++) {
                List<String> answer = all.get(i);
                assertThat(answer).hasSize(dialect.maps() ? 4 : 3).startsWith("");
                assertThat(answer.get(answer.size() - 2)).isEqualTo(String.format("%016x", i));
                if (dialect.maps()) {
                    assertThat(answer.get(1)).isEqualTo(Ear.hex("kv"));
                }
            }
            assertThat(all.getLast()).isEqualTo(end);
            assertThat(ear.ask(publisher, DELIMITER, Ear.number(3))).isEqualTo(all.subList(3, 6));
            assertThat(ear.ask(publisher, DELIMITER, Ear.number(5))).containsExactly(end);
            assertThat(ear.ask(publisher, DELIMITER, Ear.number(-1)))
                    .as("numbers are unsigned")
                    .containsExactly(end);
            assertThat(ear.ask(publisher, DELIMITER, new byte[] {4}))
                    .as("the engines read a number of any length")
                    .isEqualTo(all.subList(4, 6));
        }
    }

    @Test
    void questionOfAnotherShape_getsNoAnswer_andTheNextOneDoes() {
        try (EventPublisher publisher = publisher(replaying(Dialect.VLLM_MAPS))) {
            ZMQ.Socket dealer = ear.dealer(publisher);
            Ear.send(dealer, Ear.number(0));
            Ear.send(dealer, DELIMITER, Ear.number(0), Ear.number(0));
            Ear.send(dealer, DELIMITER);
            Ear.send(dealer, DELIMITER, Ear.number(0));
            assertThat(Ear.answer(dealer)).containsExactly("", "", Ear.END, "");
            Ear.send(dealer, DELIMITER, Ear.number(1));
            assertThat(Ear.answer(dealer)).as("only one answer came").containsExactly("", "", Ear.END, "");
        }
    }

    @Test
    void askerWithARequestSocket_readsTheFirstAnswer() {
        try (EventPublisher publisher = publisher(replaying(Dialect.VLLM_ARRAYS));
                ZContext context = new ZContext(1)) {
            publisher.publish(removed(1));
            askUntil(publisher, 2);
            assertThat(firstAnswer(context, publisher.replayEndpoint().orElseThrow()))
                    .hasSize(2)
                    .startsWith("0000000000000000");
        }
    }

    /**
     * As a user's client has to ask: JeroMQ leaves one connection in thirty deaf, and a request socket that got no answer can
     * ask nothing else. What did come is never asked for again.
     */
    private static List<String> firstAnswer(ZContext context, String endpoint) {
        for (int attempt = 0; attempt < 30; attempt++) {
            ZMQ.Socket request = context.createSocket(SocketType.REQ);
            request.setHandshakeIvl(500);
            request.setReceiveTimeOut(2_000);
            request.connect(endpoint);
            request.send(Ear.number(0));
            byte[] first = request.recv();
            if (first != null) {
                List<String> frames = new ArrayList<>(List.of(HexFormat.of().formatHex(first)));
                if (request.hasReceiveMore()) {
                    frames.addAll(Ear.answer(request));
                }
                return frames;
            }
            request.close();
        }
        throw new AssertionError("thirty request sockets in turn got no answer");
    }

    @Test
    void pastBeyondTheBuffer_isLeftOutWithoutAWord() {
        try (EventPublisher publisher = publisher(replaying(Dialect.SGLANG_MAPS).withBufferSteps(3))) {
            for (int i = 0; i < 10; i++) {
                publisher.publish(removed(i));
            }
            List<List<String>> answers = ear.ask(publisher, DELIMITER, Ear.number(9));
            while (answers.size() < 2) {
                answers = ear.ask(publisher, DELIMITER, Ear.number(9));
            }
            assertThat(ear.ask(publisher, DELIMITER, Ear.number(0)))
                    .extracting(answer -> answer.get(2))
                    .containsExactly("0000000000000007", "0000000000000008", "0000000000000009", Ear.END);
        }
    }

    @Test
    void tenThousandPastBatches_allCome() {
        try (EventPublisher publisher = publisher(replaying(Dialect.VLLM_MAPS))) {
            for (int i = 0; i < 12_000; i++) {
                publisher.publish(removed(i));
            }
            List<List<String>> answers = ear.ask(publisher, DELIMITER, Ear.number(11_999));
            while (answers.size() < 2) {
                answers = ear.ask(publisher, DELIMITER, Ear.number(11_999));
            }
            answers = ear.ask(publisher, DELIMITER, Ear.number(0));
            assertThat(answers).hasSize(EventSettings.BUFFER_STEPS + 1);
            assertThat(answers.getFirst().get(2)).isEqualTo(String.format("%016x", 2_000));
        }
    }

    @Test
    void withoutReplay_thereIsNoEndpointForIt() {
        try (EventPublisher publisher = publisher(EventSettings.of(0, Dialect.SGLANG_MAPS))) {
            assertThat(publisher.replayEndpoint()).isEmpty();
        }
    }

    @Test
    void closedPublisher_leavesItsPortsFree() {
        EventSettings settings = replaying(Dialect.SGLANG_MAPS);
        for (int life = 0; life < 20; life++) {
            try (EventPublisher publisher = publisher(settings)) {
                publisher.publish(removed(1));
                String replay = publisher.replayEndpoint().orElseThrow();
                settings = settings.withPort(publisher.port())
                        .withReplay(OptionalInt.of(Integer.parseInt(replay.substring(replay.lastIndexOf(':') + 1))));
            }
        }
    }

    @Test
    void batchAfterTheClose_isLostWithoutAWord() {
        EventPublisher publisher = publisher(EventSettings.of(0, Dialect.SGLANG_MAPS));
        publisher.close();
        assertThatCode(() -> publisher.publish(removed(1))).doesNotThrowAnyException();
        assertThatCode(publisher::close).doesNotThrowAnyException();
    }

    @Test
    void usedPort_isRefusedInOneSentence() {
        try (EventPublisher first = publisher(replaying(Dialect.SGLANG_MAPS))) {
            EventSettings same = EventSettings.of(first.port(), Dialect.SGLANG_MAPS);
            assertThatThrownBy(() -> publisher(same).close())
                    .isInstanceOf(EmulatorException.class)
                    .hasMessage("Port " + first.port() + " for events is in use; choose another or 0 for a free one.");
            EventSettings replay = EventSettings.of(0, Dialect.SGLANG_MAPS).withReplay(OptionalInt.of(first.port()));
            assertThatThrownBy(() -> publisher(replay).close())
                    .hasMessage("Port " + first.port() + " for replay is in use; choose another or 0 for a free one.");
        }
        assertThatThrownBy(() -> new EventPublisher(
                                EventSettings.of(65_535, Dialect.VLLM_MAPS),
                                1,
                                Faults.none(),
                                new MachineClock(),
                                new SplittableRandom(1))
                        .close())
                .isInstanceOf(EmulatorException.class)
                .hasMessage(
                        "Rank 1 would have port 65536 for events, which no port is; choose a lower one for rank 0.");
    }

    @Test
    void ranks_publishAtConsecutivePorts_andSayWhoTheyAre() {
        List<EventPublisher> ranks = EventPublisher.forRanks(
                replaying(Dialect.SGLANG_MAPS), 3, Faults.none(), new MachineClock(), new SplittableRandom(1));
        try {
            for (int rank = 0; rank < 3; rank++) {
                EventPublisher publisher = ranks.get(rank);
                assertThat(publisher.rank()).isEqualTo(rank);
                assertThat(publisher.port()).isEqualTo(ranks.getFirst().port() + rank);
                publisher.publish(removed(1));
                List<List<String>> answers = askUntil(publisher, 2);
                assertThat(answers.getFirst().get(2)).as("numbers of its own").isEqualTo("0000000000000000");
                assertThat(answers.getFirst().get(3)).endsWith("0" + rank);
            }
        } finally {
            ranks.forEach(EventPublisher::close);
        }
    }

    private List<List<String>> askUntil(EventPublisher publisher, int answers) {
        List<List<String>> all = ear.ask(publisher, DELIMITER, Ear.number(0));
        while (all.size() < answers) {
            all = ear.ask(publisher, DELIMITER, Ear.number(0));
        }
        return all;
    }

    private static EventSettings replaying(Dialect dialect) {
        return EventSettings.of(0, dialect).withReplay(OptionalInt.of(0));
    }

    private static EventPublisher publisher(EventSettings settings) {
        return new EventPublisher(settings, 0, Faults.none(), new MachineClock(), new SplittableRandom(1));
    }

    private static List<CacheEvent> removed(long block) {
        return List.of(new CacheEvent.Removed(List.of(new BlockName.Numbered(block)), Tier.GPU));
    }
}
