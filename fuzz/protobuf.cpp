// Kubernetes' protobuf. The first byte chooses how the rest is read: as a body with its envelope,
// or as one message of a kind. What reads is written and read again as the same.
#include "apiserver/read/protobuf.h"

#include <array>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "json/parse.h"

using namespace hekla;
using namespace hekla::apiserver;

namespace {

struct Message {
  std::string_view api_version, kind;
};
constexpr std::array<Message, 10> kMessages{
    {{"v1", "Pod"},
     {"v1", "Service"},
     {"v1", "Node"},
     {"v1", "Event"},
     {"v1", "Secret"},
     {"apps/v1", "Deployment"},
     {"batch/v1", "Job"},
     {"coordination.k8s.io/v1", "Lease"},
     {"autoscaling/v2", "HorizontalPodAutoscaler"},
     {"apiextensions.k8s.io/v1", "CustomResourceDefinition"}}};

void round_trip(const json::Value& object) {
  const Result<std::string> written = encode_protobuf(object);
  if (!written) return;  // a value out of its field's range
  const Result<json::Value> read = decode_protobuf(*written);
  CHECK(read.has_value(), "what was written cannot be read");
  const Result<std::string> again = encode_protobuf(*read);
  CHECK(again.has_value() && *again == *written, "written twice, it differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= kMessages.size()) {
    if (const Result<json::Value> object = decode_protobuf(rest)) round_trip(*object);
    return 0;
  }
  const Message& message = kMessages[data[0]];
  if (Result<json::Value> object =
          decode_message(protobuf_message_name(message.api_version, message.kind), rest);
      object && object->is_object()) {
    object->get_object()["apiVersion"] = message.api_version;
    object->get_object()["kind"] = message.kind;
    round_trip(*object);
  }
  return 0;
}
