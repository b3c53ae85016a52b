package io.holdfast.loadtest;

import java.util.ArrayList;
import java.util.List;

/**
 * A line of comma-separated values; a value may be quoted, and is then whatever stands between the quotes.
 *
 * @param fields without the spaces around them
 * @param isOpen whether a quote does not end in it
 */
public record CsvLine(List<String> fields, boolean isOpen) {
    public CsvLine {
        fields = List.copyOf(fields);
    }

    public static CsvLine of(String line) {
        List<String> fields = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            boolean doubled = quoted && c == '"' && i + 1 < line.length() && line.charAt(i + 1) == '"';
            if (doubled) {
                field.append('"');
                i++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ',' && !quoted) {
                fields.add(field.toString().strip());
                field.setLength(0);
            } else {
                field.append(c);
            }
        }
        fields.add(field.toString().strip());
        return new CsvLine(fields, quoted);
    }
}
