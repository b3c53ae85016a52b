package io.holdfast.loadtest.journal;

import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What pinned legs do that baseline legs do not, as data. Commands are never part of it: a journal may come from
 * elsewhere, and reading one must not run anything.
 */
@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "kind")
@JsonSubTypes({
    @JsonSubTypes.Type(value = ArmPlan.ByEngine.class, name = "engine"),
    @JsonSubTypes.Type(value = ArmPlan.KeepWarm.class, name = "keep-warm"),
    @JsonSubTypes.Type(value = ArmPlan.NixlLease.class, name = "nixl-lease"),
    @JsonSubTypes.Type(value = ArmPlan.Release.class, name = "release"),
    @JsonSubTypes.Type(value = ArmPlan.Beside.class, name = "sidecar"),
    @JsonSubTypes.Type(value = ArmPlan.Commands.class, name = "commands"),
    @JsonSubTypes.Type(value = ArmPlan.AnotherServer.class, name = "server")
})
public sealed interface ArmPlan {
    /** Placeholder for a command in the options that name an arm. */
    String COMMAND = "COMMAND";

    /** Means of an engine to keep a prefix, or none of them. */
    enum Means {
        SESSION,
        PIN_ROUTE,
        PIN_TOLD,
        EVERYTHING,
        VLLM_CONNECTOR,
        STREAMING_SESSION,
        NONE;

        /** Returns the name as the command line has it. */
        public String text() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** An engine's own means. */
    record ByEngine(Means means) implements ArmPlan {
        @Override
        public boolean goesByTokens() {
            return switch (means) {
                case PIN_ROUTE, EVERYTHING, VLLM_CONNECTOR, STREAMING_SESSION -> true;
                case SESSION, PIN_TOLD, NONE -> false;
            };
        }

        @Override
        public boolean isOfOneEngine() {
            return means != Means.NONE;
        }

        @Override
        public boolean learns() {
            return means == Means.EVERYTHING;
        }

        @Override
        public List<String> options() {
            return List.of("--hold", means.text());
        }
    }

    /**
     * Touches during floods.
     *
     * @param every requests of a flood that end from one touch to the next
     */
    record KeepWarm(int every) implements ArmPlan {
        @Override
        public List<String> options() {
            return List.of("--hold", "keep-warm", "--touch-every", Integer.toString(every));
        }
    }

    /**
     * Leases of a vLLM's NIXL.
     *
     * @param seconds that one lasts, by the engine's configuration
     */
    record NixlLease(int seconds) implements ArmPlan {
        @Override
        public boolean goesByTokens() {
            return true;
        }

        @Override
        public boolean isOfOneEngine() {
            return true;
        }

        @Override
        public List<String> options() {
            return List.of("--hold", "nixl-lease", "--nixl-lease-seconds", Integer.toString(seconds));
        }
    }

    /**
     * A context that nobody asks for again, held by one of the engine's own means and given back before the load.
     *
     * @param heldTokens that it takes; absent for a fifth of the cache, which is less than a connector holds by default
     */
    record Release(Optional<Integer> heldTokens) implements ArmPlan {
        private static final int USUAL_PART = 5;

        /** Returns how many tokens it takes of a cache; absent where neither is known. */
        public Optional<Long> held(OptionalLong capacityTokens) {
            return heldTokens
                    .map(Integer::longValue)
                    .or(() -> capacityTokens.isPresent()
                            ? Optional.of(capacityTokens.getAsLong() / USUAL_PART)
                            : Optional.empty());
        }

        @Override
        public boolean goesByTokens() {
            return true;
        }

        @Override
        public boolean isOfOneEngine() {
            return true;
        }

        @Override
        public List<String> options() {
            return heldTokens
                    .map(tokens -> List.of("--hold", "release", "--held-tokens", Integer.toString(tokens)))
                    .orElse(List.of("--hold", "release"));
        }
    }

    /**
     * A sidecar that holds on request, or automatically.
     *
     * @param address its HTTP address
     * @param engine the engine's id in its configuration
     */
    record Beside(URI address, String engine, boolean automatic) implements ArmPlan {
        @Override
        public boolean goesByTokens() {
            return !automatic;
        }

        @Override
        public boolean learns() {
            return automatic;
        }

        @Override
        public List<String> options() {
            return List.of(
                    "--hold",
                    automatic ? "automatic" : "sidecar",
                    "--sidecar",
                    address.toString(),
                    "--engine-id",
                    engine);
        }
    }

    /**
     * Two commands of the user's.
     *
     * @param claimHold whether they are said to hold the prefix
     */
    record Commands(boolean claimHold) implements ArmPlan {
        @Override
        public List<String> options() {
            List<String> commands = List.of("--arm-command", "on=" + COMMAND, "off=" + COMMAND);
            return claimHold
                    ? List.of(commands.get(0), commands.get(1), commands.get(2), "--arm-claims-hold")
                    : commands;
        }
    }

    /** Another command that starts the server of pinned legs. */
    record AnotherServer() implements ArmPlan {
        @Override
        public List<String> options() {
            return List.of("--arm-server-command", COMMAND);
        }
    }

    /** Returns the arm of a run in which nothing is held. */
    static ArmPlan none() {
        return new ByEngine(Means.NONE);
    }

    /** Returns true if the hold is named by token ids, so that the load has to send them. */
    default boolean goesByTokens() {
        return false;
    }

    /** Returns true if the arm asks one engine for its own means, which a router before several does not have. */
    default boolean isOfOneEngine() {
        return false;
    }

    /** Returns true if requests before the hold step decide what the arm does. */
    default boolean learns() {
        return false;
    }

    /** Returns the words of the command line that ask for it, with a placeholder for each command. */
    List<String> options();
}
