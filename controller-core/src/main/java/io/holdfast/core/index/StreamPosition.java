package io.holdfast.core.index;

/**
 * Place in a cache's event stream: the last batch that was applied, and by what it is known again.
 *
 * @param publisher checksum of the identity that the publisher gives itself; 0 where it gives none
 * @param sequence its number
 * @param checksum checksum of its bytes, which tells it from one of that number in another life
 */
public record StreamPosition(long publisher, long sequence, long checksum) {
    public StreamPosition {
        if (sequence < 0) {
            throw new IllegalArgumentException("No batch has the number " + sequence + ".");
        }
    }
}
