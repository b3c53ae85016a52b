package io.holdfast.rules.engine;

/**
 * Work of the GPU in one pass of the engine's loop.
 *
 * @param prefillTokens tokens of prompts that the cache does not have
 * @param prefills requests that these belong to
 * @param firsts requests that get their first token from it
 * @param decodes running requests that get one more token
 * @param held tokens that are kept from eviction while nobody uses them
 */
public record Pass(int prefillTokens, int prefills, int firsts, int decodes, int held) {
    public static Pass prefill(int tokens, int prefills, int firsts) {
        return new Pass(tokens, prefills, firsts, 0, 0);
    }

    public static Pass decode(int requests) {
        return new Pass(0, 0, 0, requests, 0);
    }

    public Pass holding(int tokens) {
        return new Pass(prefillTokens, prefills, firsts, decodes, tokens);
    }
}
