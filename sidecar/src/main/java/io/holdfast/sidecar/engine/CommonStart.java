package io.holdfast.sidecar.engine;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.http.PromptRenderer;
import io.holdfast.http.RenderedPrompt;
import io.holdfast.http.RenderedPrompt.Cause;
import io.holdfast.http.RenderedPrompt.Refused;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** The tokens that all prompts begin with which begin with one text, or with one conversation. */
final class CommonStart {
    /*
     * The tokens of a text are not the beginning of the tokens of a longer text: a tokenizer joins its last letters to
     * what follows, and a template ends a conversation otherwise than it goes on. So two prompts are rendered that differ
     * in what comes next, and what both begin with is what is shared. Of the two ends that are tried behind a text one
     * would grow together with it where anything does, and the other is of another kind.
     *
     * Behind messages comes a user's text. Where the last message is a user's already, an answer may come as well, and many
     * templates insist on it: then one rendering has the one and the other the other, and both have an answer where the
     * template refuses two users in a row.
     */

    private static final String ONE_TEXT = "Hello";
    private static final String OTHER_TEXT = "1";

    /**
     * What is shared.
     *
     * @param tokens those that are shared
     * @param own how many tokens the text has by itself; for messages those that are shared
     */
    @SuppressWarnings("ArrayRecordComponent") // two are never compared
    record Shared(int[] tokens, int own) {}

    private final PromptRenderer renderer;

    CommonStart(PromptRenderer renderer) {
        this.renderer = renderer;
    }

    /** Tokens of a text by itself; fails with {@link ApiError} where the engine makes none of it. */
    CompletionStage<int[]> tokens(String text) {
        return tokens(renderer.text(text));
    }

    /** Fails with {@link ApiError} where the engine makes no tokens of it. */
    CompletionStage<Shared> of(String text) {
        List<String> ends = ends(text);
        return tokens(renderer.text(text))
                .thenCombine(tokens(renderer.text(text + ends.getFirst())), CommonStart::whole)
                .thenCombine(
                        tokens(renderer.text(text + ends.getLast())),
                        (two, third) -> new Shared(common(two.tokens(), third), two.own()));
    }

    private static Shared whole(int[] alone, int[] followed) {
        return new Shared(common(alone, followed), alone.length);
    }

    private static List<String> ends(String text) {
        int last = text.codePointBefore(text.length());
        String joined = Character.isDigit(last) ? "0" : Character.isLetter(last) ? "s" : Character.toString(last);
        return List.of(joined, Character.isWhitespace(last) ? "A" : "\n\n");
    }

    /** Fails with {@link ApiError} where the engine makes no tokens of it. */
    CompletionStage<Shared> of(PrefixSource.Messages conversation) {
        boolean asked = conversation
                .messages()
                .path(conversation.messages().size() - 1)
                .path("role")
                .asText("")
                .equals("user");
        if (!asked) {
            return both(then(conversation, "user", ONE_TEXT), then(conversation, "user", OTHER_TEXT), conversation)
                    .thenApply(CommonStart::shared);
        }
        ArrayNode answered = then(conversation, "assistant", OTHER_TEXT).add(message("user", ONE_TEXT));
        return both(then(conversation, "user", ONE_TEXT), answered, conversation)
                .thenCompose(pair -> pair.refused()
                                .filter(why -> why.cause() == Cause.PROMPT)
                                .isEmpty()
                        ? CompletableFuture.completedStage(pair)
                        : both(
                                then(conversation, "assistant", ONE_TEXT).add(message("user", ONE_TEXT)),
                                answered,
                                conversation))
                .thenApply(CommonStart::shared);
    }

    private record Pair(RenderedPrompt one, RenderedPrompt other) {
        Optional<Refused> refused() {
            return one instanceof Refused why
                    ? Optional.of(why)
                    : other instanceof Refused why ? Optional.of(why) : Optional.empty();
        }
    }

    private CompletionStage<Pair> both(ArrayNode one, ArrayNode other, PrefixSource.Messages conversation) {
        return renderer.messages(one, conversation.tools())
                .thenCombine(renderer.messages(other, conversation.tools()), Pair::new);
    }

    private static Shared shared(Pair pair) {
        int[] tokens = common(accepted(pair.one()), accepted(pair.other()));
        return new Shared(tokens, tokens.length);
    }

    private static ArrayNode then(PrefixSource.Messages conversation, String role, String text) {
        return conversation.messages().deepCopy().add(message(role, text));
    }

    private static ObjectNode message(String role, String text) {
        return JsonNodeFactory.instance.objectNode().put("role", role).put("content", text);
    }

    private static CompletionStage<int[]> tokens(CompletionStage<RenderedPrompt> rendered) {
        return rendered.thenApply(CommonStart::accepted);
    }

    private static int[] accepted(RenderedPrompt rendered) {
        return switch (rendered) {
            case RenderedPrompt.Tokens tokens -> tokens.ids();
            case Refused refused ->
                throw new CompletionException(
                        switch (refused.cause()) {
                            case ENGINE_SILENT -> ApiError.notYet(503, refused.sentence());
                            case ENGINE_CANNOT -> new ApiError(409, refused.sentence());
                            case PROMPT -> ApiError.badRequest(refused.sentence());
                        });
        };
    }

    private static int[] common(int[] one, int[] other) {
        int at = Arrays.mismatch(one, other);
        return at < 0 ? one : Arrays.copyOf(one, at);
    }
}
