package io.holdfast.embed.ledger;

import java.io.IOException;
import java.nio.file.Path;

/** Another process has the ledger: both would believe that its pins are theirs. */
public final class LedgerInUse extends IOException {
    private static final long serialVersionUID = 1;

    LedgerInUse(Path ledger) {
        super("The ledger " + ledger
                + " is in use by another sidecar or router; stop that one or name another state directory.");
    }
}
