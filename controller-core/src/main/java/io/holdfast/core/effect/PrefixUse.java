package io.holdfast.core.effect;

/**
 * Use that some prompts made, by the events, of the prefixes that were held when the round of windows began.
 *
 * @param requests how many requests showed the beginning of their prompts
 * @param users how many of them go over a held prefix
 * @param promptTokens of prompts that go over one
 * @param foundTokens of those, tokens within a held prefix that the cache had
 */
public record PrefixUse(int requests, int users, long promptTokens, long foundTokens) {}
