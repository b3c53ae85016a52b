package io.holdfast.app.loadtest;

import io.holdfast.app.cli.CommandException;
import io.holdfast.loadtest.FileTrouble;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.LocalDateTime;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Files that become one, the same bytes each time: nothing in it says when, where or by whom it was made. */
final class BundleFile {
    private static final LocalDateTime NO_TIME = LocalDateTime.of(1980, 1, 1, 0, 0);

    private final Map<String, byte[]> entries = new LinkedHashMap<>();

    void add(String name, byte[] bytes) {
        entries.put(name, bytes);
    }

    void add(String name, String text) {
        add(name, text.getBytes(StandardCharsets.UTF_8));
    }

    /** Writes it to a file that is not there yet. */
    void write(Path file) {
        try (OutputStream to = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
                ZipOutputStream zip = new ZipOutputStream(to, StandardCharsets.UTF_8)) {
            for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
                ZipEntry head = new ZipEntry(entry.getKey());
                head.setTimeLocal(NO_TIME);
                zip.putNextEntry(head);
                zip.write(entry.getValue());
                zip.closeEntry();
            }
        } catch (FileAlreadyExistsException e) {
            throw new CommandException("'" + file + "' is there already; name another file, or move it away.");
        } catch (NoSuchFileException e) {
            throw new CommandException("'" + file + "' cannot be written: there is no such folder; make it first.");
        } catch (IOException e) {
            throw new CommandException(
                    "'" + file + "' cannot be written (" + FileTrouble.why(e) + "); name another file.");
        }
    }
}
