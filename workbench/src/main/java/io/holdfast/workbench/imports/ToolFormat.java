package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.List;

/** The files of one tool. */
interface ToolFormat {
    /** Returns true if a file that begins with this document is one of them. */
    boolean wrote(JsonNode first);

    /** Reads the content of a file; reports errors in a sentence. */
    Imported read(List<JsonNode> documents, Path file);
}
