package io.holdfast.loadtest.workload;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** One request of a workload. */
public final class LoadRequest {
    /** Ids that prompts are drawn from lie below it, and so in the vocabulary of any model of today. */
    public static final int LARGEST_VOCABULARY = IdlePrefixFlood.FIRST_TOKEN + IdlePrefixFlood.TOKENS;

    private static final int[] NO_HEAD = {};

    private final Role role;
    private final int cycle;
    private final int[] head;
    private final int[] own;
    private final int maxTokens;
    private final Optional<String> session;
    private final List<Message> messages;

    /**
     * A part of a chat.
     *
     * @param role as {@code system} or {@code user}
     */
    public record Message(String role, String content) {}

    /** @param cycle from 1; 0 before the first */
    public LoadRequest(Role role, int cycle, int[] tokens, int maxTokens) {
        this(role, cycle, NO_HEAD, tokens.clone(), maxTokens, Optional.empty(), List.of());
    }

    /**
     * One whose words matter. Where token ids are sent in place of text each word is a token, the same word always the
     * same.
     *
     * @param cycle from 1; 0 before the first
     */
    public static LoadRequest ofMessages(Role role, int cycle, List<Message> messages, int maxTokens) {
        int[] tokens = messages.stream()
                .flatMap(message -> Stream.of(message.content().strip().split("\\s+", -1)))
                .mapToInt(word -> IdlePrefixFlood.tokenOf(word.hashCode()))
                .toArray();
        return new LoadRequest(role, cycle, NO_HEAD, tokens, maxTokens, Optional.empty(), List.copyOf(messages));
    }

    private LoadRequest(
            Role role,
            int cycle,
            int[] head,
            int[] own,
            int maxTokens,
            Optional<String> session,
            List<Message> messages) {
        this.messages = messages;
        this.role = role;
        this.cycle = cycle;
        this.head = head;
        this.own = own;
        this.maxTokens = maxTokens;
        this.session = session;
    }

    public Role role() {
        return role;
    }

    public int cycle() {
        return cycle;
    }

    public int[] tokens() {
        int[] all = Arrays.copyOf(head, head.length + own.length);
        System.arraycopy(own, 0, all, head.length, own.length);
        return all;
    }

    public int length() {
        return head.length + own.length;
    }

    public int maxTokens() {
        return maxTokens;
    }

    /** The engine's session that it belongs to, where it names one. */
    public Optional<String> session() {
        return session;
    }

    /** Returns the messages word for word; empty where nothing but the length matters. */
    public List<Message> messages() {
        return messages;
    }

    /**
     * Returns the request with these tokens before its own; they are in no message, whose words are not ours to change.
     */
    LoadRequest behind(int[] salt) {
        return new LoadRequest(role, cycle, salt.clone(), own, maxTokens, session, messages);
    }

    /** Returns the request without the head that tells its leg from others. */
    public LoadRequest withoutHead() {
        return new LoadRequest(role, cycle, NO_HEAD, own, maxTokens, session, messages);
    }

    /**
     * Leaves so many of its tokens out that its text is as long as it is to be where a word is more than
     * one token. What requests begin with alike stays alike. Messages, whose words are not ours to change, stay as they
     * are.
     *
     * @param tokensOfAWord above 1, by the server's tokenizer
     */
    public LoadRequest asWords(double tokensOfAWord) {
        if (!messages.isEmpty() || tokensOfAWord <= 1) {
            return this;
        }
        int[] kept = IntStream.range(0, own.length)
                .filter(i -> Math.ceil((i + 1) / tokensOfAWord) > Math.ceil(i / tokensOfAWord))
                .map(i -> own[i])
                .toArray();
        return new LoadRequest(role, cycle, head, kept, maxTokens, session, messages);
    }

    /**
     * Returns the request for a model with so many token ids: those beyond take the place of others, the same always of
     * the same, and special tokens, which come first, are left out. What requests begin with alike stays alike.
     */
    public LoadRequest within(int vocabulary) {
        if (vocabulary >= LARGEST_VOCABULARY) {
            return this;
        }
        return new LoadRequest(
                role, cycle, within(head, vocabulary), within(own, vocabulary), maxTokens, session, messages);
    }

    private static int[] within(int[] tokens, int vocabulary) {
        int first = Math.min(IdlePrefixFlood.FIRST_TOKEN, vocabulary / 4);
        return Arrays.stream(tokens)
                .map(token -> token < vocabulary ? token : first + token % (vocabulary - first))
                .toArray();
    }

    public LoadRequest inSession(String name) {
        return new LoadRequest(role, cycle, head, own, maxTokens, Optional.of(name), messages);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LoadRequest that
                && role == that.role
                && cycle == that.cycle
                && maxTokens == that.maxTokens
                && session.equals(that.session)
                && messages.equals(that.messages)
                && Arrays.equals(head, that.head)
                && Arrays.equals(own, that.own);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * role.hashCode() + cycle) + Arrays.hashCode(own);
    }

    @Override
    public String toString() {
        return role + " " + cycle + ", " + length() + " tokens";
    }
}
