package io.holdfast.app.demo;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.FileTrouble;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What is left of a demo: a journal for each scenario with a verdict, and the document that {@code --json} prints. */
public record DemoFolder(Path folder) {
    /** Makes the folder before anything is measured; one that is there already is not added to. */
    static DemoFolder create(Path folder) {
        try {
            Path parent = folder.toAbsolutePath().normalize().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.createDirectory(folder);
            return new DemoFolder(folder);
        } catch (FileAlreadyExistsException e) {
            // Of a folder below a file it is that file.
            String where = folder.toString().equals(e.getFile()) ? "which" : "and '" + e.getFile() + "'";
            throw new CommandException(
                    "--out is '" + folder + "', " + where + " is there already; name another folder, or move it away.");
        } catch (IOException e) {
            throw cannotWrite(folder, e);
        }
    }

    public Path journal(DemoScenario scenario) {
        return folder.resolve(scenario.name() + ".jsonl");
    }

    void write(String document) {
        Path file = folder.resolve("demo.json");
        try {
            Files.writeString(file, document + "\n", StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw cannotWrite(file, e);
        }
    }

    private static CommandException cannotWrite(Path path, IOException cause) {
        return new CommandException(
                "'" + path + "' cannot be written (" + FileTrouble.why(cause) + "); name another folder by --out.");
    }
}
