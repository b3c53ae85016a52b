package io.holdfast.embed.ledger;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;

/** Access of a ledger to its disk: the system's own way, or one that can be watched, filled up and made to hang. */
@FunctionalInterface
public interface LedgerFiles {
    /** The file system as it is. */
    LedgerFiles SYSTEM = FileChannel::open;

    FileChannel open(Path path, OpenOption... options) throws IOException;
}
