package io.holdfast.emulator.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.holdfast.core.index.Tier;
import io.holdfast.emulator.wire.Ear.Listener;
import io.holdfast.emulator.wire.Ear.Message;
import io.holdfast.events.KvEventEncoder.Dialect;
import io.holdfast.rules.engine.BlockName;
import io.holdfast.rules.engine.CacheEvent;
import io.holdfast.rules.fault.EventFault;
import io.holdfast.rules.fault.Fault;
import io.holdfast.rules.fault.Faults;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What goes wrong on the way of the events, as subscribers and askers see it. */
final class EventFaultsTest {
    private final Faults faults = Faults.none();
    private final SetClock clock = new SetClock();
    private final Ear ear = new Ear();
    private final EventPublisher publisher = publisher(7);
    private Listener listener = new Listener(ear.subscriber("tcp://127.0.0.1:1"), 0);

    @BeforeEach
    void listen() {
        listener = ear.joined(publisher);
    }

    @AfterEach
    void close() {
        publisher.close();
        ear.close();
    }

    @Test
    void lostBatches_leaveHolesThatAReplayFills() {
        faults.begin(new EventFault.EventLoss(30));
        publish(200);
        awaitSent(publisher, listener.next() + 199);
        end(EventFault.EventLoss.class);
        publish(1);
        List<Long> heard = numbersUpTo(200);
        assertThat(heard).isSorted().doesNotHaveDuplicates().hasSizeBetween(120, 160);
        assertThat(repeated(0)).containsExactlyElementsOf(upTo(200));
        assertThat(lostBy(7)).isEqualTo(lostBy(7)).isNotEqualTo(lostBy(8));
    }

    @Test
    void allBatchesLost_isSilence() {
        faults.begin(new EventFault.EventLoss(100));
        publish(3);
        awaitSent(publisher, listener.next() + 2);
        assertThat(listener.hearsNothing()).isTrue();
        assertThat(repeated(0)).containsExactly(0L, 1L, 2L);
    }

    @Test
    void delayedBatches_comeInOrderWithTheirTrueStamps_onceTheyAreDue() {
        faults.begin(new EventFault.EventDelay(Duration.ofMillis(500)));
        clock.stamp(1_700_000_001.25);
        publish(2);
        clock.advance(Duration.ofMillis(400).toNanos());
        clock.stamp(1_700_000_001.65);
        publish(1);
        assertThat(listener.hearsNothing()).isTrue();
        assertThat(repeated(0)).as("nobody can ask for what has not left").isEmpty();
        clock.advance(Duration.ofMillis(100).toNanos());
        List<Message> heard = listener.hear(2);
        assertThat(heard).extracting(Message::sequence).containsExactly(listener.next(), listener.next() + 1);
        assertThat(heard).extracting(Message::stamp).containsOnly(1_700_000_001.25);
        assertThat(listener.hearsNothing()).isTrue();
        clock.advance(Duration.ofMillis(400).toNanos());
        assertThat(listener.hear().stamp()).isEqualTo(1_700_000_001.65);
    }

    @Test
    void delayThatEnds_letsGoOfWhatWaits() {
        faults.begin(new EventFault.EventDelay(Duration.ofHours(1)));
        publish(3);
        assertThat(listener.hearsNothing()).isTrue();
        end(EventFault.EventDelay.class);
        assertThat(listener.numbers(3)).containsExactly(0L, 1L, 2L);
    }

    @Test
    void doubledBatches_comeTwiceWithOneNumber() {
        faults.begin(new EventFault.EventDuplicates(100));
        publish(2);
        List<Message> heard = listener.hear(4);
        assertThat(heard.get(0)).isEqualTo(heard.get(1));
        assertThat(heard.get(2)).isEqualTo(heard.get(3));
        assertThat(heard)
                .extracting(message -> message.sequence() - listener.next())
                .containsExactly(0L, 0L, 1L, 1L);
        assertThat(repeated(0)).containsExactly(0L, 1L);
    }

    @Test
    void overtakenBatches_comeAfterTheirSuccessor() {
        faults.begin(new EventFault.EventReorder(100));
        publish(6);
        assertThat(listener.numbers(6)).containsExactly(1L, 0L, 3L, 2L, 5L, 4L);
        publish(1);
        assertThat(listener.hearsNothing()).isTrue();
        clock.advance(EventSender.PATIENCE_NANOS);
        assertThat(listener.numbers(1)).as("after a silence it comes alone").containsExactly(6L);
        assertThat(repeated(0)).containsExactlyElementsOf(upTo(6));
    }

    @Test
    void shortReplay_hasTheLastBatchesOnly() {
        faults.begin(new EventFault.ReplayShort(4));
        publish(10);
        assertThat(listener.numbers(10)).containsExactlyElementsOf(upTo(9));
        assertThat(repeated(0)).containsExactly(6L, 7L, 8L, 9L);
        assertThat(repeated(8)).containsExactly(8L, 9L);
        faults.begin(new EventFault.ReplayShort(0));
        assertThat(repeated(0)).isEmpty();
        end(EventFault.ReplayShort.class);
        publish(1);
        assertThat(listener.numbers(1)).containsExactly(10L);
        assertThat(repeated(0)).as("what was forgotten stays so").containsExactly(10L);
    }

    @Test
    void resetNumbers_beginAgainAtZero_andThePastIsForgotten() {
        faults.begin(new EventFault.SequenceReset(3));
        publish(7);
        List<Long> numbers = new ArrayList<>();
        do {
            numbers.add(listener.hear().sequence());
        } while (numbers.size() < 7);
        // How far it was when the fault began depends on when the subscriber was heard.
        assertThat(numbers.subList(numbers.indexOf(0L), numbers.size()))
                .isEqualTo(
                        List.of(0L, 1L, 2L, 0L, 1L, 2L, 0L, 1L, 2L).subList(0, numbers.size() - numbers.indexOf(0L)));
        assertThat(numbers.indexOf(0L)).isLessThan(3);
        long last = numbers.getLast();
        assertThat(ear.ask(publisher, new byte[0], Ear.number(0)))
                .extracting(answer -> answer.get(2))
                .startsWith("0000000000000000")
                .hasSize((int) last + 2);
    }

    @Test
    void skewedClock_stampsBatchesAheadOrBehind() {
        publish(1);
        double truth = listener.hear().stamp();
        faults.begin(new EventFault.ClockSkew(Duration.ofSeconds(5)));
        publish(1);
        assertThat(listener.hear().stamp()).isCloseTo(truth + 5, within(1e-6));
        faults.begin(new EventFault.ClockSkew(Duration.ofMinutes(-1)));
        publish(1);
        assertThat(listener.hear().stamp()).isCloseTo(truth - 60, within(1e-6));
        end(EventFault.ClockSkew.class);
        publish(1);
        assertThat(listener.hear().stamp()).isEqualTo(truth);
    }

    /** The numbers, from the listener's first on, that a replay has. */
    private List<Long> repeated(long from) {
        return ear.ask(publisher, new byte[0], Ear.number(listener.next() + from)).stream()
                .map(answer -> answer.get(2))
                .filter(number -> !number.equals(Ear.END))
                .map(number -> Long.parseUnsignedLong(number, 16) - listener.next())
                .toList();
    }

    private List<Long> numbersUpTo(long last) {
        List<Long> numbers = new ArrayList<>();
        do {
            numbers.add(listener.hear().sequence() - listener.next());
        } while (numbers.getLast() < last);
        return numbers;
    }

    /** Which of a hundred batches are lost by a seed. */
    private List<Long> lostBy(long seed) {
        end(EventFault.EventLoss.class);
        try (EventPublisher another = publisher(seed)) {
            Listener heard = ear.joined(another);
            faults.begin(new EventFault.EventLoss(30));
            publish(another, 100);
            awaitSent(another, heard.next() + 99);
            end(EventFault.EventLoss.class);
            publish(another, 1);
            List<Long> lost = new ArrayList<>(upTo(99));
            for (long number = 0; number < 100; ) {
                number = heard.hear().sequence() - heard.next();
                lost.remove(number);
            }
            return lost;
        }
    }

    private EventPublisher publisher(long seed) {
        return new EventPublisher(
                EventSettings.of(0, Dialect.SGLANG_MAPS).withReplay(OptionalInt.of(0)),
                0,
                faults,
                clock,
                new SplittableRandom(seed));
    }

    private void publish(int batches) {
        publish(publisher, batches);
    }

    private static void publish(EventPublisher publisher, int batches) {
        for (int i = 0; i < batches; i++) {
            publisher.publish(List.of(new CacheEvent.Removed(List.of(new BlockName.Numbered(i)), Tier.GPU)));
        }
    }

    /** Faults are asked for when a batch leaves, on the publisher's thread. */
    private void awaitSent(EventPublisher publisher, long number) {
        int answers = 0;
        while (answers < 2) {
            answers = ear.ask(publisher, new byte[0], Ear.number(number)).size();
        }
    }

    private void end(Class<? extends Fault> kind) {
        faults.find(kind).ifPresent(fault -> faults.end(fault.kind()));
    }

    private static List<Long> upTo(long last) {
        return LongStream.rangeClosed(0, last).boxed().toList();
    }
}
