package io.holdfast.core.hold;

/** A hint by an application or a router about a conversation, which events do not tell. */
public enum Hint {
    /** A request went over this prefix, whether the engine stored anything for it or not. */
    USED,
    /** The conversation goes on: what it begins with will be wanted again. */
    GOES_ON,
    /** The conversation is over. */
    OVER
}
