package io.holdfast.app.loadtest;

import io.holdfast.app.cli.FormerName;
import io.holdfast.app.cli.ModelOptions;
import io.holdfast.app.cli.ServerAddress;
import java.net.URI;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A server that speaks OpenAI's language, and which of its models is asked. */
public final class AskedServer {
    @FormerName({"--url", "--server"})
    @Option(
            names = "--engine",
            paramLabel = "URL",
            required = true,
            description = "The engine's HTTP address, such as http://127.0.0.1:8000.")
    private URI url = URI.create("http://127.0.0.1");

    @Mixin
    private ModelOptions model = new ModelOptions();

    public AskedServer() {}

    /** Its address, without the path of OpenAI's routes. */
    public URI server() {
        ServerAddress.check("--engine", url);
        return ServerAddress.withoutVersion(url);
    }

    public ModelOptions model() {
        return model;
    }
}
