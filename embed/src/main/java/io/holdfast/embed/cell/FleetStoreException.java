package io.holdfast.embed.cell;

/** A store did not do what it was asked, which one sentence explains. */
public final class FleetStoreException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public FleetStoreException(String sentence) {
        super(sentence);
    }

    public FleetStoreException(String sentence, Throwable cause) {
        super(sentence, cause);
    }
}
