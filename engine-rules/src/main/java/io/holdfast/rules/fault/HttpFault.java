package io.holdfast.rules.fault;

import java.time.Duration;
import java.util.List;

/** A fault of what the server answers to its clients. */
public sealed interface HttpFault extends Fault {
    /** Answers of a single blank. */
    record EmptyOutputs(double percent) implements HttpFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "empty-outputs",
                List.of(Argument.percent().or("8")),
                "Of the answers, PERCENT are a single blank with no completion tokens.",
                "A server that restores caches answered 15 of 198 requests (two at a time, cached, 1,024 to 2,048"
                        + " tokens) with one blank, a rate of 0 and a time to the first token of 0.",
                values -> new EmptyOutputs(values.number(0)));

        public EmptyOutputs {
            KIND.check(percent);
        }
    }

    /** A stream that says nothing for a while, with its connection open. */
    record StalledStream(double percent, int tokens, Duration pause) implements HttpFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "stalled-stream",
                List.of(
                        Argument.percent().or("10"),
                        Argument.whole("TOKENS", 0, 1_000_000).or("8"),
                        Argument.whole("MS", 1, 86_400_000).or("60000")),
                "Of the streamed answers, PERCENT say nothing for MS once they have said TOKENS tokens, and then go"
                        + " on.",
                "SGLang's streaming sessions, which deadlocked a worker under load with the clients' connections open"
                        + " (sgl-project/sglang#27024, #28891).",
                values -> new StalledStream(values.number(0), values.whole(1), values.millis(2)));

        public StalledStream {
            KIND.check(percent, tokens, (double) pause.toMillis());
        }
    }

    /** A stream that is cut off in the middle of an event. */
    record BrokenSse(double percent, int tokens) implements HttpFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "broken-sse",
                List.of(
                        Argument.percent().or("10"),
                        Argument.whole("TOKENS", 0, 1_000_000).or("8")),
                "Of the streamed answers, PERCENT are cut off in the middle of the event after TOKENS tokens: no end of"
                        + " the line, no [DONE], the connection closed.",
                "SGLang up to v0.5.9 dies when its last running request finds no memory to decode (\"Out of memory even"
                        + " after retracting all other requests\"), and takes the open streams with it.",
                values -> new BrokenSse(values.number(0), values.whole(1)));

        public BrokenSse {
            KIND.check(percent, tokens);
        }
    }

    /** Requests that are refused with an error. */
    record HttpError(double percent, int status) implements HttpFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "http-error",
                List.of(
                        Argument.percent().or("10"),
                        Argument.whole("STATUS", 400, 599).or("503")),
                "Of the requests for answers, PERCENT are answered with STATUS (503, 500, 429 or another error) and the"
                        + " engine's error body.",
                "SGLang answers 503 while it starts or stops and, since v0.5.11, 500 when the last running request"
                        + " finds no memory to decode; 429 stands for proxies in front that limit rates.",
                values -> new HttpError(values.number(0), values.whole(1)));

        public HttpError {
            KIND.check(percent, status);
        }
    }

    /** Answers that count their tokens wrong. */
    record UsageWrong(double percent) implements HttpFault, Chance {
        static final FaultKind KIND = new FaultKind(
                "usage-wrong",
                List.of(Argument.percent().or("10")),
                "Of the answers, PERCENT report one completion token more than they have, and as many cached tokens as"
                        + " the prompt is long, which no engine can have.",
                "Stands for counts that cannot be believed; recorded is that vLLM's cached tokens are null for a miss"
                        + " and for a missing flag alike.",
                values -> new UsageWrong(values.number(0)));

        public UsageWrong {
            KIND.check(percent);
        }
    }

    /** Pins that act at once and are answered late. */
    record PinLate(Duration delay) implements HttpFault {
        static final FaultKind KIND = new FaultKind(
                "pin-late",
                List.of(Argument.whole("MS", 1, 3_600_000).or("700")),
                "Calls that hold or release act at once and are answered MS later.",
                "A benchmark whose pinned runs alone had the pin's round trip between warm-up and load, so that the two"
                        + " arms did not start alike.",
                values -> new PinLate(values.millis(0)));

        public PinLate {
            KIND.check((double) delay.toMillis());
        }
    }
}
