package io.holdfast.loadtest.workload;

import java.util.Arrays;

/** One request of a workload. */
public final class LoadRequest {
    private final Role role;
    private final int cycle;
    private final int[] tokens;
    private final int maxTokens;

    /** @param cycle from 1; 0 before the first */
    public LoadRequest(Role role, int cycle, int[] tokens, int maxTokens) {
        this.role = role;
        this.cycle = cycle;
        this.tokens = tokens.clone();
        this.maxTokens = maxTokens;
    }

    public Role role() {
        return role;
    }

    public int cycle() {
        return cycle;
    }

    public int[] tokens() {
        return tokens.clone();
    }

    public int length() {
        return tokens.length;
    }

    public int maxTokens() {
        return maxTokens;
    }

    /** The same request with these tokens before its own. */
    LoadRequest behind(int[] head) {
        int[] all = Arrays.copyOf(head, head.length + tokens.length);
        System.arraycopy(tokens, 0, all, head.length, tokens.length);
        return new LoadRequest(role, cycle, all, maxTokens);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LoadRequest that
                && role == that.role
                && cycle == that.cycle
                && maxTokens == that.maxTokens
                && Arrays.equals(tokens, that.tokens);
    }

    @Override
    public int hashCode() {
        return 31 * (31 * role.hashCode() + cycle) + Arrays.hashCode(tokens);
    }

    @Override
    public String toString() {
        return role + " " + cycle + ", " + tokens.length + " tokens";
    }
}
