package io.holdfast.rules.fault;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A fault of the server as a process. */
public sealed interface ServerFault extends Fault {
    /** The server is slow to start. */
    record SlowStart(Duration delay) implements ServerFault {
        static final FaultKind KIND = new FaultKind(
                "slow-start",
                List.of(Argument.whole("SECONDS", 1, 86_400).or("45")),
                "For SECONDS after each start nobody listens on the HTTP port.",
                "Scripts that slept 30 s in place of asking whether the server was there.",
                values -> new SlowStart(Duration.ofSeconds(values.whole(0))));

        public SlowStart {
            KIND.check((double) delay.toSeconds());
        }
    }

    /** The server is killed and starts again on its ports with an empty cache. */
    record Restart(int requests, Duration down) implements ServerFault {
        static final FaultKind KIND = new FaultKind(
                "restart",
                List.of(
                        Argument.whole("REQUESTS", 1, 1_000_000).or("100"),
                        Argument.whole("DOWN_MS", 0, 86_400_000).or("1000")),
                "After REQUESTS finished requests the server is killed, requests in flight and all; DOWN_MS later it"
                        + " starts again on the same ports with an empty cache.",
                "Real servers restarted on their ports: about 20 s without an answer, numbers from 0 again, and"
                        + " SGLang's first batch lost to subscribers that were still reconnecting.",
                values -> new Restart(values.whole(0), values.millis(1)));

        public Restart {
            KIND.check(requests, (double) down.toMillis());
        }
    }

    /** After a restart the server serves another model. */
    record OtherModel(String name) implements ServerFault {
        static final FaultKind KIND = new FaultKind(
                "other-model",
                List.of(new Argument.Word("NAME", Optional.of("another-model"))),
                "From its first restart on the server serves the model NAME.",
                "Stands for a roll-out behind an address that stays; no single incident is recorded.",
                values -> new OtherModel(values.text(0)));

        public OtherModel {
            KIND.check(name);
        }
    }

    /** Callers without the key are turned away. */
    record ApiKey(String key) implements ServerFault {
        static final FaultKind KIND = new FaultKind(
                "api-key",
                List.of(new Argument.Word("KEY", Optional.of("secret"))),
                "Requests without KEY are answered with 401: of SGLang all but health and metrics, of vLLM those"
                        + " below /v1.",
                "An engine that was started with --api-key, beside a sidecar that was told of none.",
                values -> new ApiKey(values.text(0)));

        public ApiKey {
            KIND.check(key);
        }
    }

    /** Several caches behind one HTTP port. */
    record DpRanks(int ranks) implements ServerFault {
        static final FaultKind KIND = new FaultKind(
                "dp-ranks",
                List.of(Argument.whole("RANKS", 2, 16).or("2")),
                "The server has RANKS data-parallel ranks: each a cache of its own, with its events on port base +"
                        + " rank.",
                "Data-parallel servers of both engines; until sgl-project/sglang#29211 the ranks of SGLang even"
                        + " collided on one port.",
                values -> new DpRanks(values.whole(0)));

        public DpRanks {
            KIND.check(ranks);
        }
    }
}
