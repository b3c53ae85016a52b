package io.holdfast.valkey;

import io.holdfast.embed.cell.FleetStoreException;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * End of a connection over which more arrives than any answer has: the client library keeps an answer until it is
 * whole, and a key or a member of a window may have 512 MB.
 */
final class FloodGuard extends ChannelInboundHandlerAdapter {
    /** Answers that we ask for have at most some 1 MiB. */
    static final long MOST = 4 << 20;

    private final Meter meter;

    private final String where;

    /**
     * What arrives for one store.
     *
     * @param unanswered bytes since the last whole answer, over all connections: more than one of them is rarely open
     * @param flooded whether one was too much
     */
    record Meter(AtomicLong unanswered, AtomicBoolean flooded) {
        Meter() {
            this(new AtomicLong(), new AtomicBoolean());
        }
    }

    FloodGuard(Meter meter, String where) {
        this.meter = meter;
        this.where = where;
    }

    @Override
    @SuppressWarnings("FutureReturnValueIgnored") // Closing cannot fail in a way that leaves it open.
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (message instanceof ByteBuf bytes && meter.unanswered().addAndGet(bytes.readableBytes()) > MOST) {
            meter.unanswered().set(0);
            meter.flooded().set(true);
            ReferenceCountUtil.release(message);
            context.fireExceptionCaught(new FleetStoreException(where + " sent more than " + (MOST >> 20)
                    + " MiB in one answer, and so was hung up; see who else writes there, and give Holdfast a database"
                    + " of its own."));
            context.close();
            return;
        }
        context.fireChannelRead(message);
    }
}
