package io.holdfast.sidecar;

import io.holdfast.embed.ledger.LedgerFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.FileSystemException;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;

/** The system's files, with what is done to them written down, and made full, read-only or hanging at will. */
public final class WatchedDisk implements LedgerFiles {
    /** What a call on a file is to come to. */
    @FunctionalInterface
    public interface Trouble {
        void at(String call) throws IOException;
    }

    private final List<String> calls = new CopyOnWriteArrayList<>();
    private volatile Trouble trouble = call -> {};

    static WatchedDisk readOnly() {
        WatchedDisk disk = new WatchedDisk();
        disk.trouble(call -> {
            if (call.startsWith("open to write ")) {
                throw new FileSystemException(call.substring(14), null, "Read-only file system");
            }
        });
        return disk;
    }

    /** Takes no byte more, of whatever file. */
    static WatchedDisk full() {
        WatchedDisk disk = new WatchedDisk();
        disk.trouble(failing(call -> call.startsWith("write ") || call.startsWith("create ")));
        return disk;
    }

    public static Trouble failing(Predicate<String> which) {
        return call -> {
            if (which.test(call)) {
                throw new IOException("No space left on device");
            }
        };
    }

    public void trouble(Trouble now) {
        trouble = now;
    }

    /** From now on forcing a file to the disk lasts until the latch is open. */
    void hang(CountDownLatch until) {
        trouble(call -> {
            if (call.startsWith("force ")) {
                try {
                    until.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        });
    }

    public List<String> calls() {
        return calls;
    }

    private void call(String call) throws IOException {
        trouble.at(call);
        calls.add(call);
    }

    @Override
    public FileChannel open(Path path, OpenOption... options) throws IOException {
        String name = String.valueOf(path.getFileName());
        boolean writes = Arrays.asList(options).contains(StandardOpenOption.WRITE);
        call((writes ? "open to write " : "open ") + name);
        if (writes && !path.toFile().exists()) {
            call("create " + name);
        }
        return new Watched(name, FileChannel.open(path, options));
    }

    private final class Watched extends FileChannel {
        private final String name;
        private final FileChannel file;

        Watched(String name, FileChannel file) {
            this.name = name;
            this.file = file;
        }

        @Override
        public int write(ByteBuffer bytes, long position) throws IOException {
            try {
                call("write " + name);
            } catch (IOException e) {
                // What a full disk does: a part of it is there.
                file.write(bytes.slice(0, bytes.remaining() / 2), position);
                throw e;
            }
            return file.write(bytes, position);
        }

        @Override
        public void force(boolean metadata) throws IOException {
            call("force " + name);
            file.force(metadata);
        }

        @Override
        public FileChannel truncate(long size) throws IOException {
            call("truncate " + name);
            file.truncate(size);
            return this;
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) throws IOException {
            return file.tryLock(position, size, shared);
        }

        @Override
        protected void implCloseChannel() throws IOException {
            file.close();
        }

        @Override
        public int read(ByteBuffer bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long read(ByteBuffer[] bytes, int offset, int length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int write(ByteBuffer bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long write(ByteBuffer[] bytes, int offset, int length) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long position() {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileChannel position(long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long transferTo(long position, long count, WritableByteChannel target) {
            throw new UnsupportedOperationException();
        }

        @Override
        public long transferFrom(ReadableByteChannel source, long position, long count) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int read(ByteBuffer bytes, long position) {
            throw new UnsupportedOperationException();
        }

        @Override
        public MappedByteBuffer map(MapMode mode, long position, long size) {
            throw new UnsupportedOperationException();
        }

        @Override
        public FileLock lock(long position, long size, boolean shared) {
            throw new UnsupportedOperationException();
        }
    }
}
