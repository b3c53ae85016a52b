package io.holdfast.core.hold;

/** What an application or a router knows of a conversation and events do not tell. */
public enum Hint {
    /** A request went over this prefix, whether the engine stored anything for it or not. */
    USED,
    /** The conversation goes on: what it begins with will be wanted again. */
    GOES_ON,
    /** The conversation is over. */
    OVER
}
