package io.holdfast.rules.fault;

import java.time.Duration;
import java.util.List;

/** A fault on the way of the events. The cache itself is right. */
public sealed interface EventFault extends Fault {
    /** Batches that subscribers never see; a replay request gets them. */
    record EventLoss(double percent) implements EventFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "event-loss",
                List.of(Argument.percent().or("5")),
                "Of the batches, PERCENT do not reach subscribers: their numbers are missing, and a replay has them.",
                "ZeroMQ drops silently for a subscriber that is behind by more than the high-water mark; and the first"
                        + " batch after a restart of SGLang was lost to subscribers that were still reconnecting.",
                values -> new EventLoss(values.number(0)));

        public EventLoss {
            KIND.check(percent);
        }
    }

    /** Batches that come late, in their order and with their true stamps. */
    record EventDelay(Duration delay) implements EventFault {
        static final FaultKind KIND = new FaultKind(
                "event-delay",
                List.of(Argument.whole("MS", 1, 3_600_000).or("500")),
                "Every batch comes MS later than it was made, in order and with its true stamp.",
                "SGLang keeps back what is stored and removed while decoding until the next prefill, every 40th decode"
                        + " step or idleness: seen 11.6 s late on a real server.",
                values -> new EventDelay(values.millis(0)));

        public EventDelay {
            KIND.check((double) delay.toMillis());
        }
    }

    /** Batches that come twice. */
    record EventDuplicates(double percent) implements EventFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "event-duplicates",
                List.of(Argument.percent().or("5")),
                "Of the batches, PERCENT come twice with the same number.",
                "Stands for a relay that repeats, and for a replay that overlaps with what came live: asked from the"
                        + " last number on, real servers send that batch again.",
                values -> new EventDuplicates(values.number(0)));

        public EventDuplicates {
            KIND.check(percent);
        }
    }

    /** Batches that come after their successor. */
    record EventReorder(double percent) implements EventFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "event-reorder",
                List.of(Argument.percent().or("5")),
                "Of the batches, PERCENT come right after the next one, or alone once the engine has been silent for a"
                        + " second.",
                "Stands for batches that come over two ways: publishing and replay are connections of their own, and"
                        + " nothing keeps the order between them.",
                values -> new EventReorder(values.number(0)));

        public EventReorder {
            KIND.check(percent);
        }
    }

    /** A replay that does not reach back far. */
    record ReplayShort(int batches) implements EventFault {
        static final FaultKind KIND = new FaultKind(
                "replay-short",
                List.of(Argument.whole("BATCHES", 0, 1_000_000).or("4")),
                "A replay has the last BATCHES batches only.",
                "Both engines keep the last 10,000 batches, llm-d's simulator 1,024, and begin silently with the oldest"
                        + " that is left when an older one is asked for.",
                values -> new ReplayShort(values.whole(0)));

        public ReplayShort {
            KIND.check(batches);
        }
    }

    /** Numbers that begin again while the cache goes on. */
    record SequenceReset(int batches) implements EventFault {
        static final FaultKind KIND = new FaultKind(
                "sequence-reset",
                List.of(Argument.whole("BATCHES", 1, 1_000_000).or("100")),
                "After every BATCHES batches the numbers begin at 0 again and the replay is empty, while the cache goes"
                        + " on as it was.",
                "Both engines number from 0 after each start and say nothing else of it, so that a publisher that"
                        + " begins again looks like a restarted server.",
                values -> new SequenceReset(values.whole(0)));

        public SequenceReset {
            KIND.check(batches);
        }
    }

    /** Stamps that are not the reader's time. */
    record ClockSkew(Duration skew) implements EventFault {
        static final FaultKind KIND = new FaultKind(
                "clock-skew",
                List.of(Argument.whole("MS", -1_000_000_000, 1_000_000_000).or("5000")),
                "The stamps of the batches are MS ahead of the clock (behind it when negative).",
                "Both engines stamp with their host's wall clock; stands for hosts whose clocks nobody keeps together.",
                values -> new ClockSkew(values.millis(0)));

        public ClockSkew {
            KIND.check((double) skew.toMillis());
        }
    }
}
