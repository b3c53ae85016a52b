package io.holdfast.app.cli;

/** The front door's exit codes, the same for every subcommand. */
public final class ExitCode {
    public static final int OK = 0;
    /** The command did its work and the check that it stands for failed. */
    public static final int CHECK_FAILED = 1;
    /** Bad input or bad data; one sentence on the error stream says which and what to do. */
    public static final int BAD_INPUT = 2;
    /** The data cannot tell. */
    public static final int INCONCLUSIVE = 3;

    /** A fault of ours, whatever the input; the number is EX_SOFTWARE of sysexits.h. */
    public static final int INTERNAL_ERROR = 70;

    /** Stopped by Ctrl-C; the number is the shell's for SIGINT, and a stop by SIGTERM ends with 143. */
    public static final int STOPPED = 130;

    private ExitCode() {}
}
