// Fills in the bytes of messages.json with Kafka's own code. To run it again:
//
//   java -cp kafka-clients-3.9.1.jar:jackson-core.jar:jackson-databind.jar:jackson-annotations.jar:slf4j-api.jar \
//     MakeGolden.java messages.json
//
// Every message is read from its fields by Kafka's generated JSON converter, which takes the fields
// that a version has, and written by Kafka's generated class in each version.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.ByteBuffer;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class MakeGolden {
    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        File file = new File(arguments[0]);
        JsonNode golden = mapper.readTree(file);
        for (JsonNode message : golden.get("messages")) {
            ObjectNode bytes = ((ObjectNode) message).putObject("bytes");
            String name = "org.apache.kafka.common.message." + message.get("message").asText();
            Class<?> converter = Class.forName(name + "DataJsonConverter");
            int last = message.get("versions").get(1).asInt();
            for (int version = message.get("versions").get(0).asInt(); version <= last; version++) {
                ApiMessage made = (ApiMessage) converter
                    .getMethod("read", JsonNode.class, short.class)
                    .invoke(null, message.get("fields"), (short) version);
                ObjectSerializationCache cache = new ObjectSerializationCache();
                ByteBuffer buffer = ByteBuffer.allocate(made.size(cache, (short) version));
                made.write(new ByteBufferAccessor(buffer), cache, (short) version);
                StringBuilder hex = new StringBuilder();
                for (byte b : buffer.array()) {
                    hex.append(String.format("%02x", b));
                }
                bytes.put(Integer.toString(version), hex.toString());
            }
        }
        mapper.writeValue(file, golden);
    }
}
