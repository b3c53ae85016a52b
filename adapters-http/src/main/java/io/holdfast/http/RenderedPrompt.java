package io.holdfast.http;

/** Rendering of a prompt by an engine. */
public sealed interface RenderedPrompt {
    /** Its tokens; two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    record Tokens(int[] ids) implements RenderedPrompt {}

    /** None, and one sentence why, with the mend. */
    record Refused(Cause cause, String sentence) implements RenderedPrompt {}

    /** Whose matter a refusal is. */
    enum Cause {
        /** The engine did not answer, or was too busy to: it may later. */
        ENGINE_SILENT,
        /** This engine, as it runs, makes no tokens of such a prompt. */
        ENGINE_CANNOT,
        /** The prompt itself. */
        PROMPT
    }
}
