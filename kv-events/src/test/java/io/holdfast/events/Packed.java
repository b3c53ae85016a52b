package io.holdfast.events;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

/** Payloads written down as JSON, with single quotes, and packed by the serialisation library. */
final class Packed {
    private static final ObjectMapper JSON =
            JsonMapper.builder().enable(JsonParser.Feature.ALLOW_SINGLE_QUOTES).build();

    private Packed() {}

    static byte[] json(String text) {
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            pack(JSON.readTree(text), packer);
            return packer.toByteArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void pack(JsonNode node, MessageBufferPacker packer) throws IOException {
        switch (node.getNodeType()) {
            case OBJECT -> {
                packer.packMapHeader(node.size());
                for (var entry : node.properties()) {
                    packer.packString(entry.getKey());
                    pack(entry.getValue(), packer);
                }
            }
            case ARRAY -> {
                packer.packArrayHeader(node.size());
                for (JsonNode element : node) {
                    pack(element, packer);
                }
            }
            case STRING -> packer.packString(node.textValue());
            case BOOLEAN -> packer.packBoolean(node.booleanValue());
            case NUMBER -> {
                if (node.isIntegralNumber()) {
                    packer.packBigInteger(node.bigIntegerValue());
                } else {
                    packer.packDouble(node.doubleValue());
                }
            }
            default -> packer.packNil();
        }
    }
}
