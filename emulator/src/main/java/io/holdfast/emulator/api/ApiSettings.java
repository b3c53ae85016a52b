package io.holdfast.emulator.api;

import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Settings of a server's HTTP side beside its engine's.
 *
 * @param model name that it serves
 * @param seed of the ids that it gives to requests
 * @param eventsPort where its events are published
 * @param replayPort where they are requested again
 * @param ranks behind it
 * @param stamps the file that it writes its stamps of each streamed answer to, where that is wanted
 */
public record ApiSettings(
        String model,
        Tokenizer tokenizer,
        ChatTemplate template,
        long seed,
        int eventsPort,
        OptionalInt replayPort,
        int ranks,
        Optional<Path> stamps) {
    public static final String DEFAULT_MODEL = "holdfast-emulated";

    public ApiSettings {
        if (model.isBlank()) {
            throw new IllegalArgumentException("The model's name must not be empty.");
        }
    }

    public static ApiSettings of(long seed, int eventsPort) {
        return new ApiSettings(
                DEFAULT_MODEL,
                Tokenizer.named("pieces"),
                ChatTemplate.CHATML,
                seed,
                eventsPort,
                OptionalInt.empty(),
                1,
                Optional.empty());
    }

    public ApiSettings withModel(String value) {
        return new ApiSettings(value, tokenizer, template, seed, eventsPort, replayPort, ranks, stamps);
    }

    public ApiSettings withTokenizer(Tokenizer value) {
        return new ApiSettings(model, value, template, seed, eventsPort, replayPort, ranks, stamps);
    }

    public ApiSettings withRanks(int value) {
        return new ApiSettings(model, tokenizer, template, seed, eventsPort, replayPort, value, stamps);
    }
}
