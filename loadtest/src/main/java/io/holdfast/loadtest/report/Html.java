package io.holdfast.loadtest.report;

/** What text has to become to stand in a page. */
final class Html {
    private Html() {}

    static String escaped(String text) {
        return text.replaceAll("[\\p{Cntrl}&&[^\n\t]]", "?")
                .replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
