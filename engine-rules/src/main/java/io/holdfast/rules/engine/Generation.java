package io.holdfast.rules.engine;

import java.util.Arrays;
import java.util.Optional;
import java.util.function.IntPredicate;

/** One request in the engine, with its answer so far. Belongs to the engine's thread once submitted. */
public final class Generation {
    private static final int UNKNOWN = -1;

    private final int[] prompt;
    private final RequestOptions terms;
    private final boolean streamed;
    private final long arrivalNanos;
    private final TokenListener listener;
    private final IntPredicate ends;

    private int[] answer = new int[16];
    private int answered;
    private int most;
    private int cached = UNKNOWN;
    private int cachedOnHost;
    private boolean ended;
    private Optional<HoldReport> report = Optional.empty();

    /** Keeps the array, which is not to be written from here on. */
    public Generation(int[] prompt, RequestOptions terms, boolean streamed, long arrivalNanos, TokenListener listener) {
        this(prompt, terms, streamed, arrivalNanos, listener, token -> false);
    }

    /** @param ends asked once for each token: whether the answer ends with it, however many more it might have */
    public Generation(
            int[] prompt,
            RequestOptions terms,
            boolean streamed,
            long arrivalNanos,
            TokenListener listener,
            IntPredicate ends) {
        this.prompt = prompt;
        this.terms = terms;
        this.streamed = streamed;
        this.arrivalNanos = arrivalNanos;
        this.listener = listener;
        this.ends = ends;
        this.most = terms.maxNew();
    }

    /** The prompt itself, not to be written. */
    public int[] prompt() {
        return prompt;
    }

    public RequestOptions terms() {
        return terms;
    }

    public boolean streamed() {
        return streamed;
    }

    public long arrivalNanos() {
        return arrivalNanos;
    }

    /** Prompt and answer so far, a copy. */
    public int[] tokens() {
        int[] all = Arrays.copyOf(prompt, prompt.length + answered);
        System.arraycopy(answer, 0, all, prompt.length, answered);
        return all;
    }

    /** Tokens from one position up to before another. */
    public Tokens tokens(int from, int to) {
        if (to <= prompt.length) {
            return Tokens.between(prompt, from, to);
        }
        int fromAnswer = Math.max(from - prompt.length, 0);
        Tokens said = Tokens.of(Arrays.copyOfRange(answer, fromAnswer, to - prompt.length));
        return from < prompt.length
                ? Tokens.between(prompt, from, prompt.length).and(said)
                : said;
    }

    /** Tokens of prompt and answer so far. */
    public int length() {
        return prompt.length + answered;
    }

    public void answer(int token) {
        if (answered == answer.length) {
            answer = Arrays.copyOf(answer, answered << 1);
        }
        answer[answered++] = token;
        ended |= ends.test(token);
    }

    public int answered() {
        return answered;
    }

    public int answer(int position, int otherwise) {
        return position < answered ? answer[position] : otherwise;
    }

    /** The engine has room for no longer an answer than this. */
    public void limitAnswer(int tokens) {
        most = Math.min(most, tokens);
    }

    /** The longest answer that it may give. */
    public int maxAnswer() {
        return most;
    }

    /** Tokens that it may still say. */
    public int left() {
        return Math.max(0, most - answered);
    }

    public boolean done() {
        return ended || answered >= most;
    }

    /** Notes what a prefill found in the cache; only the first counts, not one after a retraction. */
    public void found(int tokens, int onHost) {
        if (cached == UNKNOWN) {
            cached = tokens;
            cachedOnHost = onHost;
        }
    }

    /** Tokens that its first prefill found in the cache, in any tier. */
    public int cachedTokens() {
        return Math.max(cached, 0);
    }

    /** Number of these that were brought back from the host. */
    public int cachedOnHost() {
        return cachedOnHost;
    }

    /** Notes what came of its order to the connector; told with the last token. */
    public void reported(HoldReport value) {
        report = Optional.of(value);
    }

    public Optional<HoldReport> report() {
        return report;
    }

    /** Tells the one who waits of the token said last. */
    public void tell() {
        listener.token(answer[answered - 1], answered, cachedTokens(), done());
    }

    public void refuse(String message) {
        listener.refused(message);
    }

    public void fail(String message) {
        listener.failed(message);
    }
}
