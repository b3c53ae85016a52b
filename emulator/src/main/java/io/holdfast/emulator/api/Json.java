package io.holdfast.emulator.api;

import java.math.BigInteger;
import java.util.AbstractList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.RandomAccess;
import java.util.StringJoiner;

/** A value of a request's body, as exact as the engines see it: 2 is not 2.0, and large numbers stay what they are. */
sealed interface Json {
    /** How Python prints it, since both engines put what they were given into their error messages. */
    String repr();

    /** What Python calls its type. */
    String typeName();

    enum Null implements Json {
        NULL;

        @Override
        public String repr() {
            return "None";
        }

        @Override
        public String typeName() {
            return "NoneType";
        }
    }

    enum Bool implements Json {
        FALSE,
        TRUE;

        static Bool of(boolean value) {
            return value ? TRUE : FALSE;
        }

        boolean value() {
            return this == TRUE;
        }

        @Override
        public String repr() {
            return value() ? "True" : "False";
        }

        @Override
        public String typeName() {
            return "bool";
        }
    }

    record Int(long value) implements Json {
        @Override
        public String repr() {
            return Long.toString(value);
        }

        @Override
        public String typeName() {
            return "int";
        }
    }

    /** A whole number beyond 64 bits. */
    record Big(BigInteger value) implements Json {
        @Override
        public String repr() {
            return value.toString();
        }

        @Override
        public String typeName() {
            return "int";
        }
    }

    record Real(double value) implements Json {
        @Override
        public String repr() {
            return Python.repr(value);
        }

        @Override
        public String typeName() {
            return "float";
        }
    }

    record Str(String value) implements Json {
        @Override
        public String repr() {
            return Python.repr(value);
        }

        @Override
        public String typeName() {
            return "str";
        }
    }

    record Arr(List<Json> items) implements Json {
        @Override
        public String repr() {
            StringJoiner text = new StringJoiner(", ", "[", "]");
            for (Json item : items) {
                text.add(item.repr());
            }
            return text.toString();
        }

        @Override
        public String typeName() {
            return "list";
        }
    }

    record Obj(Map<String, Json> fields) implements Json {
        Optional<Json> get(String name) {
            return Optional.ofNullable(fields.get(name));
        }

        @Override
        public String repr() {
            StringJoiner text = new StringJoiner(", ", "{", "}");
            for (Map.Entry<String, Json> field : fields.entrySet()) {
                text.add(Python.repr(field.getKey()) + ": " + field.getValue().repr());
            }
            return text.toString();
        }

        @Override
        public String typeName() {
            return "dict";
        }
    }

    /** A body that was not read as JSON; two are never compared. */
    @SuppressWarnings("ArrayRecordComponent")
    record Bytes(byte[] value) implements Json {
        @Override
        public String repr() {
            StringBuilder text = new StringBuilder("b'");
            for (byte unit : value) {
                switch (unit) {
                    case '\\', '\'' -> text.append('\\').append((char) unit);
                    case '\n' -> text.append("\\n");
                    case '\r' -> text.append("\\r");
                    case '\t' -> text.append("\\t");
                    default -> {
                        if (unit >= ' ' && unit < 0x7F) {
                            text.append((char) unit);
                        } else {
                            text.append(String.format(Locale.ROOT, "\\x%02x", unit & 0xFF));
                        }
                    }
                }
            }
            return text.append('\'').toString();
        }

        @Override
        public String typeName() {
            return "bytes";
        }
    }

    /** Whole numbers without an object for each: a prompt of token ids has many. */
    final class Ints extends AbstractList<Json> implements RandomAccess {
        private final long[] values;

        /** Keeps the array, which is not to be written from here on. */
        Ints(long[] values) {
            this.values = values;
        }

        boolean hasNegative() {
            for (long value : values) {
                if (value < 0) {
                    return true;
                }
            }
            return false;
        }

        long at(int index) {
            return values[index];
        }

        @Override
        public Json get(int index) {
            return new Int(values[index]);
        }

        @Override
        public int size() {
            return values.length;
        }
    }
}
