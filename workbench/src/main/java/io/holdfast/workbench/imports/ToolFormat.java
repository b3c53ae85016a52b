package io.holdfast.workbench.imports;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Path;
import java.util.List;

/** The files of one tool. */
interface ToolFormat {
    /** Whether a file that begins with this document is one of them. */
    boolean wrote(JsonNode first);

    /** What such a file tells; what is wrong with it is said in a sentence. */
    Imported read(List<JsonNode> documents, Path file);
}
