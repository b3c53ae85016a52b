package io.holdfast.sidecar;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.holdfast.rules.testing.HeadlessBrowser;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;

/** A headless Chromium that waits for what a live page will show. */
final class Browser implements AutoCloseable {
    private final HeadlessBrowser browser;

    Browser(Path binary, Path profile) throws IOException {
        browser = new HeadlessBrowser(binary, profile);
    }

    JsonObject call(String method) {
        return new JsonObject(browser.call(method, HeadlessBrowser.parameters()).toString());
    }

    void looks(int width, int height, boolean dark) {
        browser.looks(width, height, dark);
    }

    void open(URI page) {
        browser.open(page);
    }

    Object evaluate(String expression) {
        return browser.evaluate(expression);
    }

    String text(String selector) {
        return browser.text(selector);
    }

    String textOf(String selector, Predicate<String> wanted) {
        return Eventually.see(selector + " in the page", () -> text(selector), wanted);
    }

    void click(String selector) {
        browser.click(selector);
    }

    List<String> faintTexts() {
        return browser.faintTexts();
    }

    /** Into whatever has the focus, as if it was typed. */
    void type(String text) {
        browser.call("Input.insertText", HeadlessBrowser.parameters().put("text", text));
    }

    /** A key, down and up. */
    void press(String key) {
        ObjectNode event = HeadlessBrowser.parameters().put("key", key).put("code", key);
        if (key.equals("Enter")) {
            event.put("text", "\r").put("windowsVirtualKeyCode", 13);
        }
        browser.call("Input.dispatchKeyEvent", event.deepCopy().put("type", "keyDown"));
        browser.call("Input.dispatchKeyEvent", event.deepCopy().put("type", "keyUp"));
    }

    List<String> complaints() {
        return browser.complaints();
    }

    List<String> requests() {
        return browser.requests();
    }

    byte[] screenshot(boolean whole) {
        return browser.screenshot(whole);
    }

    @Override
    public void close() {
        browser.close();
    }
}
