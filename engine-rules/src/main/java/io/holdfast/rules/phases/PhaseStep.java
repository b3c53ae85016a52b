package io.holdfast.rules.phases;

/**
 * One line of the step log: what a step of the engine's loop did.
 *
 * @param number from 1 on
 * @param prefillTokens of prompts, without padding
 * @param computedTokens that the prefill cost, with padding
 * @param prefills requests whose prompts these belong to
 * @param restoredTokens brought back from outside the GPU
 * @param decodes requests that got another token
 */
public record PhaseStep(
        long number,
        int prefillTokens,
        int computedTokens,
        int prefills,
        int restoredTokens,
        int decodes,
        int running,
        int waiting) {}
