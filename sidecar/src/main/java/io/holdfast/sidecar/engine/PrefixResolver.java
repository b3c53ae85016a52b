package io.holdfast.sidecar.engine;

import io.holdfast.core.Controller;
import io.holdfast.core.EngineView;
import io.holdfast.core.hold.HoldRequest;
import io.holdfast.core.hold.Lease;
import io.holdfast.core.reading.Reading;
import io.holdfast.events.BlockNaming;
import io.holdfast.http.PromptRenderer;
import io.holdfast.sidecar.config.ApiError;
import io.holdfast.sidecar.config.PrefixSource;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Makes of whatever a prefix is asked for by the blocks and tokens that the engine has for it. */
public final class PrefixResolver {
    private final CommonStart starts;
    private final BlockNaming names;
    private final Supplier<EngineView> view;
    private final BooleanSupplier needsTokens;
    private final Controller controller;
    private final Executor executor;

    /**
     * What came of it.
     *
     * @param droppedTokens of a text or of messages: how many of their tokens are not held, since they are not shared by all
     *     prompts that begin so, or fill no block
     */
    public record Resolved(HoldRequest request, OptionalInt droppedTokens) {}

    /** @param needsTokens whether what holds needs the tokens themselves */
    PrefixResolver(
            PromptRenderer renderer,
            BlockNaming names,
            Supplier<EngineView> view,
            BooleanSupplier needsTokens,
            Controller controller,
            Executor executor) {
        this.starts = new CommonStart(renderer);
        this.names = names;
        this.view = view;
        this.needsTokens = needsTokens;
        this.controller = controller;
        this.executor = executor;
    }

    /** Fails with {@link ApiError} where nothing can come of it. */
    public CompletionStage<Resolved> resolve(PrefixSource source, Lease lease) {
        try {
            return resolveNow(source, lease);
        } catch (ApiError | IllegalArgumentException e) {
            return CompletableFuture.failedStage(e);
        }
    }

    private CompletionStage<Resolved> resolveNow(PrefixSource source, Lease lease) {
        return switch (source) {
            case PrefixSource.Hashes hashes ->
                CompletableFuture.completedStage(
                        new Resolved(new HoldRequest(hashes.blocks(), lease), OptionalInt.empty()));
            case PrefixSource.Tokens tokens ->
                CompletableFuture.supplyAsync(
                        () -> new Resolved(named(tokens.ids(), lease), OptionalInt.empty()), executor);
            case PrefixSource.Example example ->
                controller
                        .examplePrefix(example.example(), example.prefix(), lease)
                        .thenApply(found -> new Resolved(
                                found.orElseThrow(() -> new ApiError(
                                        404,
                                        "There is no prefix " + example.prefix() + " of an example "
                                                + example.example() + " (any more); GET …/examples/"
                                                + example.example() + " says what there is.")),
                                OptionalInt.empty()));
            case PrefixSource.Text text -> {
                knownBlockTokens();
                yield starts.of(text.text()).thenApplyAsync(shared -> cut(shared, lease), executor);
            }
            case PrefixSource.Messages messages -> {
                knownBlockTokens();
                yield starts.of(messages).thenApplyAsync(shared -> cut(shared, lease), executor);
            }
        };
    }

    private Resolved cut(CommonStart.Shared shared, Lease lease) {
        HoldRequest request = named(bounded(shared.tokens()), lease);
        controller.hasToken(request.largestToken());
        return new Resolved(request, OptionalInt.of(shared.own() - request.blocks() * knownBlockTokens()));
    }

    private static int[] bounded(int[] tokens) {
        if (tokens.length > PrefixSource.MOST_TOKENS) {
            throw ApiError.badRequest(
                    "It has more than " + PrefixSource.MOST_TOKENS + " tokens; no prefix is that long.");
        }
        return tokens;
    }

    /** Tokens that the engine makes of a whole prompt; fails with {@link ApiError} where it makes none. */
    public CompletionStage<int[]> tokens(String prompt) {
        try {
            knownBlockTokens();
            return starts.tokens(prompt).thenApply(PrefixResolver::bounded);
        } catch (ApiError unknown) {
            return CompletableFuture.failedStage(unknown);
        }
    }

    /** The engine's names of the whole blocks of a prompt; any thread. */
    public long[] names(int[] tokens) {
        return naming().of(tokens);
    }

    /** The engine's rule of naming blocks, which may not be known yet. */
    public BlockNaming rule() {
        return names;
    }

    /** Tokens that prompts share which begin with such a prefix; fails with {@link ApiError} where nobody knows them. */
    public CompletionStage<int[]> sharedTokens(PrefixSource source) {
        try {
            knownBlockTokens();
            return switch (source) {
                case PrefixSource.Tokens tokens -> CompletableFuture.completedStage(tokens.ids());
                // The engine itself cut them into these tokens, so it has them.
                case PrefixSource.Text text -> starts.of(text.text()).thenApply(shared -> known(shared.tokens()));
                case PrefixSource.Messages messages -> starts.of(messages).thenApply(shared -> known(shared.tokens()));
                case PrefixSource.Hashes _, PrefixSource.Example _ ->
                    throw ApiError.badRequest("Other engines name blocks otherwise, so a hold of the fleet is asked for"
                            + " by tokens, text or messages.");
            };
        } catch (ApiError refusal) {
            return CompletableFuture.failedStage(refusal);
        }
    }

    private int[] known(int[] tokens) {
        int[] within = bounded(tokens);
        controller.hasToken(
                Arrays.stream(within).mapToLong(Integer::toUnsignedLong).max().orElse(0));
        return within;
    }

    /** Naming of blocks by one engine as it is now; equal ones name a prompt's blocks alike. */
    public record Naming(BlockNaming rule, int blockTokens) {
        /** Names of the whole blocks of a prompt. */
        public long[] of(int[] tokens) {
            return rule.of(tokens, blockTokens);
        }
    }

    /** The engine's naming; fails with {@link ApiError} where it is not known. */
    public Naming naming() {
        int blockTokens = knownBlockTokens();
        try {
            return new Naming(names.now(), blockTokens);
        } catch (BlockNaming.UnknownRule e) {
            String sentence = String.valueOf(e.getMessage());
            throw e.yet() ? ApiError.notYet(409, sentence) : new ApiError(409, sentence);
        }
    }

    private HoldRequest named(int[] tokens, Lease lease) {
        int blockTokens = knownBlockTokens();
        if (tokens.length < blockTokens) {
            throw ApiError.badRequest("The prefix has " + tokens.length + " tokens, less than one block of "
                    + blockTokens + "; nothing of it can be held.");
        }
        long[] blocks = names(tokens);
        // Tokens take much more memory than names.
        return needsTokens.getAsBoolean()
                ? new HoldRequest(blocks, Arrays.copyOf(tokens, blocks.length * blockTokens), lease)
                : new HoldRequest(blocks, lease);
    }

    int knownBlockTokens() {
        return switch (view.get().readings().blockTokens()) {
            case Reading.Known known -> (int) known.value();
            case Reading.Unknown unknown ->
                throw ApiError.notYet(
                        409,
                        "The engine's block size is not known yet (" + unknown.why()
                                + "); try again when it answers, or send hashes.");
        };
    }
}
