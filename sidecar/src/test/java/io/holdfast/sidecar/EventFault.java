package io.holdfast.sidecar;

import io.holdfast.core.index.KvEventSink;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;

/** What happens on the event thread whenever a batch of an engine's events ends; nothing, unless it is said. */
final class EventFault {
    private final CountDownLatch hanging = new CountDownLatch(1);
    private final CountDownLatch wakes = new CountDownLatch(1);
    private volatile Runnable fault = () -> {};

    void is(Runnable what) {
        fault = what;
    }

    void isNone() {
        fault = () -> {};
    }

    /** From the next batch on the thread hangs until it is woken. */
    void isAHang() {
        fault = () -> {
            hanging.countDown();
            await(wakes);
        };
    }

    void awaitHang() {
        await(hanging);
    }

    /** Lets the thread go on, for good. */
    void wake() {
        fault = () -> {};
        wakes.countDown();
    }

    /** The same sink with the fault. */
    KvEventSink in(KvEventSink sink) {
        return (KvEventSink) Proxy.newProxyInstance(
                KvEventSink.class.getClassLoader(), new Class<?>[] {KvEventSink.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("batchEnded")) {
                        fault.run();
                    }
                    try {
                        return method.invoke(sink, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause() == null ? e : e.getCause();
                    }
                });
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
