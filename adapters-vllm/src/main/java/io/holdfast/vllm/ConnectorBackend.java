package io.holdfast.vllm;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.core.backend.Backend;
import io.holdfast.core.backend.BackendTraits;
import io.holdfast.core.backend.BackendTraits.Need;
import io.holdfast.core.backend.Capabilities;
import io.holdfast.core.backend.Outcome;
import io.holdfast.core.backend.Outcome.Kind;
import io.holdfast.core.backend.PinCommand;
import io.holdfast.http.EngineHttp;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.random.RandomGenerator;

/** Holds prefixes on a vLLM engine that has Holdfast's connector loaded. */
public final class ConnectorBackend implements Backend {
    /*
     * The connector takes one more reference on the cached blocks of a request, under a name and for a time. So a hold
     * is a request of the prefix for one token, which carries the name; the same request again renews it, and tells by
     * the tokens that the engine found whether all of it was there. What is held gives way where the engine could not go
     * on otherwise, so no pin can stop the engine, and it ends in time when this process does.
     *
     * The secret never travels. What is asked is proven by a code of the question, its time and its tokens, so whoever
     * reads it in a log can neither ask for something else nor ask it again. A name is never used twice: it has a part
     * that is this process's own, and the numbers of the hold and of the attempt.
     *
     * A renewal that found fewer tokens than are held is a loss, where the engine tells how many it found: the
     * connector gave way, or the engine started anew, and what the request stored is a miss that was paid for.
     */

    /** Name in configuration and reasons. */
    public static final String NAME = "vllm_connector";

    private static final Duration TIME = Duration.ofMinutes(3);
    private static final Duration RENEWED = Duration.ofMinutes(1);

    public static final BackendTraits TRAITS =
            BackendTraits.soft().needing(Need.TOKENS).leasedFor(TIME, RENEWED);

    /** Key of kv_transfer_params, asked and answered. */
    private static final String FIELD = "holdfast";

    private static final String VERSION = "holdfast/1";
    /** A token that each vocabulary has. */
    private static final int[] ANY = {0};

    private static final String LOAD =
            "Put holdfast_connector.py on its PYTHONPATH and start it with --kv-transfer-config"
                    + " '{\"kv_connector\":\"HoldfastConnector\",\"kv_connector_module_path\":\"holdfast_connector\","
                    + "\"kv_role\":\"kv_producer\",\"kv_connector_extra_config\":{\"secret_file\":\"FILE\"}}'";

    private final CompletionSender sender;
    private final Optional<ConnectorSecret> secret;
    private final InstantSource wall;
    private final String ownPart;

    /**
     * Speaks to one engine.
     *
     * @param secret the one that its connector has; without it nothing is asked
     * @param wall time of asking, which the connector compares with its own
     * @param random tells the holds of this process from those of any other
     */
    public ConnectorBackend(
            EngineHttp http, Optional<ConnectorSecret> secret, InstantSource wall, RandomGenerator random) {
        this.sender = new CompletionSender(http);
        this.secret = secret;
        this.wall = wall;
        this.ownPart = HexFormat.of().toHexDigits(random.nextLong());
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public BackendTraits traits() {
        return TRAITS;
    }

    @Override
    public CompletionStage<Capabilities> probe() {
        if (secret.isEmpty()) {
            return CompletableFuture.completedFuture(new Capabilities(
                    false,
                    "The engine's connector is not asked: where it has Holdfast's, engines.ID.connectorSecretEnv names"
                            + " the variable with its secret."));
        }
        return ask(ANY, question("list", "")).thenApply(ConnectorBackend::judge);
    }

    private static Capabilities judge(CompletionSender.Answer answer) {
        if (answer.outcome().kind() != Kind.ACCEPTED) {
            return new Capabilities(
                    false,
                    "The engine's connector was not heard: " + answer.outcome().reason());
        }
        JsonNode said = answer.transfer().path(FIELD);
        if (!said.isObject()) {
            return new Capabilities(false, "The engine has no connector of Holdfast's. " + LOAD + ".");
        }
        return refusal(said).map(why -> new Capabilities(false, why)).orElseGet(() -> able(said));
    }

    private static Capabilities able(JsonNode said) {
        long most = said.path("blocks_most").asLong();
        Capabilities can = new Capabilities(
                true,
                String.format(
                        Locale.ROOT,
                        "The engine's connector holds until told, up to %,d of %,d blocks, and gives way where the"
                                + " engine could not go on.",
                        most,
                        said.path("blocks_total").asLong()));
        long blockTokens = said.path("block_size").asLong();
        return blockTokens > 0 ? can.upTo(most * blockTokens) : can;
    }

    @Override
    public String handle(PinCommand command) {
        return "holdfast-" + ownPart + "-" + command.holdId() + "-" + command.attempt();
    }

    @Override
    public CompletionStage<Outcome> pin(PinCommand command) {
        return hold(command, false);
    }

    @Override
    public CompletionStage<Outcome> renew(PinCommand command) {
        return hold(command, true);
    }

    private CompletionStage<Outcome> hold(PinCommand command, boolean again) {
        if (command.prefix().tokens().isEmpty()) {
            return CompletableFuture.completedFuture(new Outcome(
                    Kind.REJECTED, "A prefix is held by sending it to the connector, and its tokens are not known."));
        }
        int[] prefix = command.prefix().tokensOf(command.blocks());
        int[] tokens = CompletionSender.andOneMore(prefix);
        String id = handle(command);
        ObjectNode question = question("hold", id + "\n" + TIME.toSeconds() + "\n" + digest(tokens))
                .put("id", id)
                .put("ttl", TIME.toSeconds());
        return ask(tokens, question).thenApply(answer -> held(answer, command.blocks(), prefix.length, again));
    }

    private static Outcome held(CompletionSender.Answer answer, int blocks, int tokens, boolean again) {
        Outcome sent = answer.outcome();
        if (sent.kind() != Kind.ACCEPTED) {
            return sent;
        }
        JsonNode said = answer.transfer().path(FIELD);
        Optional<String> refusal =
                said.isObject() ? refusal(said) : Optional.of("The engine has no connector of Holdfast's any more.");
        if (refusal.isPresent()) {
            return said.path("refused").asText().equals("share")
                    ? Outcome.refusedForNow(refusal.get())
                    : new Outcome(Kind.REJECTED, refusal.get(), sent.cachedTokens());
        }
        long granted = said.path("ttl").asLong();
        if (granted < TIME.toSeconds()) {
            // It would end between two renewals, and nobody would notice.
            return new Outcome(
                    Kind.REJECTED,
                    "The connector holds for " + granted + " s at most (its max_ttl), and a hold needs "
                            + TIME.toSeconds() + ": start the engine with a larger one.",
                    sent.cachedTokens());
        }
        long held = said.path("held").asLong();
        if (held < blocks) {
            return new Outcome(
                    Kind.CLIPPED, "The connector holds " + held + " blocks of " + blocks + ".", sent.cachedTokens());
        }
        return again && answer.foundLessThan(tokens)
                ? new Outcome(
                        Kind.MISSING,
                        "of " + tokens + " tokens the engine found "
                                + sent.cachedTokens().getAsLong()
                                + " at the renewal: the connector gave way, or the engine started anew",
                        sent.cachedTokens())
                : new Outcome(Kind.ACCEPTED, "The connector holds its " + tokens + " tokens.", sent.cachedTokens());
    }

    @Override
    public CompletionStage<Outcome> unpin(List<String> handles) {
        ObjectNode question = question("release", String.join(",", handles));
        handles.forEach(question.putArray("ids")::add);
        return ask(ANY, question).thenApply(ConnectorBackend::released);
    }

    private static Outcome released(CompletionSender.Answer answer) {
        if (answer.outcome().kind() != Kind.ACCEPTED) {
            return answer.outcome();
        }
        JsonNode said = answer.transfer().path(FIELD);
        if (!said.isObject()) {
            // Another process at that address, which has nothing of ours.
            return new Outcome(Kind.ACCEPTED, "The engine has no connector of Holdfast's any more.");
        }
        return refusal(said)
                .map(why -> new Outcome(Kind.REJECTED, why))
                .orElseGet(() -> new Outcome(Kind.ACCEPTED, "The connector released it."));
    }

    /** Returns the connector's refusal as a sentence with its mend. */
    private static Optional<String> refusal(JsonNode said) {
        String why = said.path("refused").asText("");
        return why.isEmpty()
                ? Optional.empty()
                : Optional.of(
                        switch (why) {
                            case "no secret" ->
                                "The engine's connector has no secret: its secret_file or secret_env names one of 16"
                                        + " characters or more.";
                            case "proof" ->
                                "The engine's connector has another secret than engines.ID.connectorSecretEnv names.";
                            case "clock" ->
                                "The clocks of the engine's machine and of this one are more than five minutes apart:"
                                        + " set them by NTP.";
                            case "share" ->
                                "The connector's share is full: "
                                        + said.path("blocks_held").asLong() + " of "
                                        + said.path("blocks_most").asLong() + " blocks (its max_share).";
                            case "engine" ->
                                "The engine's connector does not know this version of vLLM, and holds nothing: its log"
                                        + " says what is missing.";
                            default -> "The engine's connector refused: " + why + ".";
                        });
    }

    private CompletionStage<CompletionSender.Answer> ask(int[] tokens, ObjectNode question) {
        ObjectNode transfer = JsonNodeFactory.instance.objectNode();
        transfer.set(FIELD, question);
        return sender.ask(tokens, transfer);
    }

    /** Returns a question with its proof. */
    private ObjectNode question(String what, String about) {
        long at = wall.millis();
        String message = VERSION + "\n" + what + "\n" + at + (about.isEmpty() ? "" : "\n" + about);
        return JsonNodeFactory.instance
                .objectNode()
                .put("v", 1)
                .put("op", what)
                .put("at", at)
                .put("proof", secret.orElseThrow().proof(message));
    }

    private static String digest(int[] tokens) {
        ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES * tokens.length).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asIntBuffer().put(tokens);
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array()));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("Each Java platform has SHA-256.", e);
        }
    }
}
