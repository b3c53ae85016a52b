package io.holdfast.core;

/**
 * What a backend is asked to pin or unpin: one path of blocks.
 *
 * @param holdId the hold on whose behalf
 * @param lastBlock the block at the end of the path; it ended an insertion, which some engines require
 * @param blocks how many blocks the path has from its root
 */
public record PinCommand(long holdId, long lastBlock, int blocks) {}
