package io.holdfast.embed.cell;

import io.holdfast.core.hash.ContentNames;
import java.util.HexFormat;

/**
 * Engines that name blocks alike, so that a prefix of one means the same at another.
 *
 * @param model name of the model that they serve
 * @param blockTokens tokens in a block
 * @param namespace word by which an operator keeps engines apart that share nothing; empty as a rule
 */
public record Cell(String model, int blockTokens, String namespace) {
    /** Version of the rule by which we name blocks; engines of another one never meet. */
    public static final int NAMES = 1;

    private static final int LONGEST = 512;

    /** @throws IllegalArgumentException with one sentence, where no engine could be of it */
    public Cell {
        if (model.isBlank() || model.length() > LONGEST || namespace.length() > LONGEST) {
            throw new IllegalArgumentException("A cell has a model's name, and that and its namespace have at most "
                    + LONGEST + " characters each.");
        }
        if (blockTokens < 1) {
            throw new IllegalArgumentException("A block has at least one token, not " + blockTokens + ".");
        }
    }

    /** Short name for keys, which is the same in every process. */
    public String id() {
        return HexFormat.of()
                .toHexDigits(ContentNames.extra(NAMES + "\n" + blockTokens + "\n" + namespace + "\n" + model));
    }
}
