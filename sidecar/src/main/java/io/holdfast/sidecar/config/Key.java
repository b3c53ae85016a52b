package io.holdfast.sidecar.config;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks a component of a record as a key of the configuration and says what it is for.
 *
 * <p>These records are the only place in which a key stands: files, variables and flags are read by them, and
 * {@code --print-config}, docs/configuration.md, refusals and reloads follow from them.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.RECORD_COMPONENT)
public @interface Key {
    /** Meaning of the value. */
    String value();

    /** Name of the key, where it is not that of the component. */
    String name() default "";

    /** Unit and bounds, where the type of the component does not say them. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    @interface Unit {
        /** Unit of the value, or what kind of text it is. */
        String value() default "";

        /** Allowed values in words, where they are no bounds; the record checks these itself. */
        String range() default "";

        /** Least number allowed. */
        double from() default Double.NEGATIVE_INFINITY;

        /** Number that the value must exceed. */
        double above() default Double.NEGATIVE_INFINITY;

        /** Largest number allowed. */
        double to() default Double.POSITIVE_INFINITY;

        /** Word that may stand in place of a number, and is read as 0. */
        String or() default "";
    }

    /** Value that holds where nobody writes one. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.RECORD_COMPONENT)
    @interface Default {
        /** Value as YAML; empty where there is none. */
        String value() default "";

        /** Reason for that. */
        String why();
    }

    /** Effect of a reload on a key, or on all keys of a record that say nothing else. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target({ElementType.RECORD_COMPONENT, ElementType.TYPE})
    @interface Reload {
        /** Effect of another value. */
        Change value();
    }

    /** Effect of a reload that finds another value. */
    enum Change {
        /** The engine follows the value from then on. */
        IN_PLACE("in place"),
        /** All holds of the engine are released, and it is followed anew; requested holds come back. */
        ANEW("follows the engine anew"),
        /** The reload is refused: only a restart of the process takes the value. */
        RESTART("restart");

        private final String shown;

        Change(String shown) {
            this.shown = shown;
        }

        /** Returns the words for the reference page. */
        String shown() {
            return shown;
        }
    }
}
