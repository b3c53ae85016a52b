package io.holdfast.app.sidecar;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;

/**
 * SIGHUP reloads, as daemons do; of a terminal that was closed it ends the process, as ever.
 *
 * <p>The JDK handles signals in a package that compilers warn of and some JVMs lack, so it is asked for by name; where it is
 * missing a reload is asked for through the API.
 */
final class HangUp {
    private HangUp() {}

    @SuppressWarnings("ReferenceEquality") // a proxy equals itself alone
    static void handle(Runnable reload) {
        boolean terminal = hasTerminal();
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object made = Proxy.newProxyInstance(
                    HangUp.class.getClassLoader(), new Class<?>[] {handler}, (self, method, arguments) -> {
                        if (method.getName().equals("handle")) {
                            if (terminal && !hasTerminal()) {
                                // Exiting waits for this handler's caller otherwise.
                                Thread.ofPlatform().start(() -> System.exit(129));
                            } else {
                                reload.run();
                            }
                        }
                        return switch (method.getName()) {
                            case "equals" -> self == arguments[0];
                            case "hashCode" -> System.identityHashCode(self);
                            case "toString" -> "HangUp";
                            default -> null;
                        };
                    });
            signal.getMethod("handle", signal, handler)
                    .invoke(null, signal.getConstructor(String.class).newInstance("HUP"), made);
        } catch (ReflectiveOperationException | IllegalArgumentException e) {
            System.err.println("holdfast: SIGHUP is not handled here (" + e + "); reload by POST /api/v1/reload.");
        }
    }

    private static boolean hasTerminal() {
        try (FileInputStream _ = new FileInputStream("/dev/tty")) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
