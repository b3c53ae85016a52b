package io.holdfast.sidecar.engine;

import io.holdfast.http.EngineHttp;
import io.holdfast.http.ListedModel;
import io.holdfast.http.Reply;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** Model that an engine serves, which every family reports at {@code /v1/models}. */
public final class ServedModel {
    private static final String MODELS = ListedModel.PATH;

    private ServedModel() {}

    /** Outcome of one request for it. */
    public sealed interface Attempt {
        /** The engine answered; no name where it does not tell it. */
        record Answered(Optional<String> model) implements Attempt {}

        /** The engine asks for a key first; one sentence on it. */
        record Refused(String why) implements Attempt {}

        /** The engine did not answer, or was too busy to; one sentence why. */
        record Unanswered(String why) implements Attempt {}
    }

    public static CompletionStage<Attempt> ask(EngineHttp http) {
        return http.get(MODELS).thenApply(ServedModel::attempt);
    }

    private static Attempt attempt(Reply reply) {
        return switch (reply) {
            case Reply.NoAnswer lost -> new Attempt.Unanswered(lost.why());
            case Reply.Answer answer
            when answer.status() == 429 || answer.status() >= 500 ->
                new Attempt.Unanswered("It answers " + MODELS + " with HTTP " + answer.status() + ".");
            case Reply.Answer answer when answer.wantsKey() -> new Attempt.Refused(answer.wantedKey(MODELS));
            case Reply.Answer answer
            when answer.status() == 200 ->
                new Attempt.Answered(ListedModel.first(answer.body()).name());
            case Reply.Answer answer -> new Attempt.Answered(Optional.empty());
        };
    }
}
