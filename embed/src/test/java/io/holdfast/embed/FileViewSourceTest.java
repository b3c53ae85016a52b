package io.holdfast.embed;

import static io.holdfast.embed.ToldEngine.tokens;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import io.holdfast.core.index.BlockTree;
import io.holdfast.core.index.Cache;
import io.holdfast.core.index.CacheTraits;
import io.holdfast.core.index.StreamPosition;
import io.holdfast.core.index.ViewSnapshot;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileViewSourceTest {
    @TempDir
    Path directory;

    private final Cache cache = new BlockTree(BlockTree.Naming.CONTENT_CHAIN).addCache(CacheTraits.sglang());
    private final ToldEngine told = new ToldEngine(cache);

    private List<Optional<ViewSnapshot>> view(long sequence) {
        return List.of(cache.snapshot(new StreamPosition(1, sequence, 1)));
    }

    private Optional<Long> sequence(FileViewSource views) {
        return views.view("http://engine:1", 0)
                .toCompletableFuture()
                .join()
                .map(bytes -> ViewSnapshot.decode(bytes).position().sequence());
    }

    @Test
    void twoSources_ofOneDirectory_writeInTurns() throws IOException {
        FileViewSource one = new FileViewSource(directory, Runnable::run);
        FileViewSource two = new FileViewSource(directory, Runnable::run);
        told.stores(tokens(1, 2));
        assertThat(sequence(one)).isEmpty();

        one.keep("http://engine:1", view(1));
        two.keep("http://engine:1", view(2));

        assertThat(sequence(one)).contains(2L);
        Path lock = directory.resolve("http%3A%2F%2Fengine%3A1.0.view.lock");
        try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE);
                FileLock held = channel.lock()) {
            assertThat(held.isValid()).isTrue();
            one.keep("http://engine:1", view(3));
            assertThat(sequence(two)).as("another writes it").contains(2L);
        }
        one.keep("http://engine:1", view(3));
        assertThat(sequence(two)).contains(3L);
    }

    @Test
    void keep_whereItCannotBeWritten_leavesItToBeWrittenLater() {
        FileViewSource views = new FileViewSource(directory.resolve("gone"), Runnable::run);
        told.stores(tokens(1, 2));

        assertThatIOException().isThrownBy(() -> views.keep("one", view(1))).withMessageContaining("gone");
    }
}
