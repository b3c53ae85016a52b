package io.holdfast.sidecar.config;

/** Where a value of the configuration was written. */
sealed interface ConfigOrigin {
    record InFile(String name, int line) implements ConfigOrigin {
        @Override
        public String shown() {
            return name + ":" + line;
        }
    }

    record Variable(String name) implements ConfigOrigin {
        @Override
        public String shown() {
            return name;
        }
    }

    /**
     * On the command line.
     *
     * @param typed as it was typed, without the value
     */
    record Flag(String typed) implements ConfigOrigin {
        @Override
        public String shown() {
            return typed;
        }
    }

    String shown();
}
