package io.holdfast.app.cli;

import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemOptions;

/** The Vert.x of a command. */
public final class OwnVertx {
    private OwnVertx() {}

    /** Without the folder for cached files that Vert.x else makes where temporary ones go: that may be read-only. */
    public static Vertx start() {
        return Vertx.vertx(new VertxOptions()
                .setFileSystemOptions(
                        new FileSystemOptions().setFileCachingEnabled(false).setClassPathResolvingEnabled(false)));
    }
}
