// Patches of every kind through the whole write path of an API server. The first byte chooses the
// object, every line after it is a patch: j (JSON patch), m (merge), s (strategic), a (apply, two
// managers), u (update), each on the object or, with a capital letter, on its status. No answer is
// an internal error of ours, a refused write changes nothing, and an accepted apply sent again is a
// no-op.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/server/server_fixture_test.h"
#include "base/check.h"

namespace hekla::apiserver {
namespace {

struct Example {
  const char* collection;
  const char* object;
};
constexpr std::array<Example, 5> kExamples{{
    {"/api/v1/namespaces/default/pods",
     R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[
         {"name":"c","image":"i","ports":[{"containerPort":80}]}],"tolerations":[{"key":"k"}]}})"},
    {"/apis/apps/v1/namespaces/default/deployments",
     R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"spec":{
         "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[
         {"name":"c","image":"i","env":[{"name":"E","value":"1"}]}]}}}})"},
    {"/api/v1/namespaces/default/services",
     R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},
         "spec":{"ports":[{"port":80}],"selector":{"a":"b"}}})"},
    {"/api/v1/namespaces/default/configmaps",
     R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b"}},"data":{"a":"1"}})"},
    {"/apis/example.com/v1/namespaces/default/things",
     R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"x"},
         "spec":{"size":1,"parts":[{"name":"p","n":1}],"tags":["t"]}})"},
}};
constexpr const char* kDefinition =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
 "metadata":{"name":"things.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
 "names":{"plural":"things","kind":"Thing"},"versions":[{"name":"v1","served":true,"storage":true,
 "subresources":{"status":{}},
 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
  "size":{"type":"integer","minimum":0,"default":3},"note":{"type":"string","nullable":true,"maxLength":9},
  "parts":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object",
   "required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}}}},
  "tags":{"type":"array","x-kubernetes-list-type":"set","items":{"type":"string"}},
  "any":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
  "x-kubernetes-validations":[{"rule":"self.size < 100"}]},
 "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";

class Server final : public ServerFixture {
 public:
  Server() {
    const Reply made =
        call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kDefinition);
    CHECK(made.status == 201, made.text);
  }
  using ServerFixture::call;

 private:
  void TestBody() override {}
};

const char* media_type(char kind) {
  switch (kind) {
    case 'j':
      return "application/json-patch+json";
    case 'm':
      return "application/merge-patch+json";
    case 's':
      return "application/strategic-merge-patch+json";
    case 'a':
      return "application/apply-patch+yaml";
    default:
      return "application/json";
  }
}

// The one 500 that is meant: kube-apiserver's answer to an apply of fields that no schema has.
bool undeclared_field(char kind, const Reply& reply) {
  return kind == 'a' && reply.text.find("field not declared in schema") != std::string::npos;
}

void write(Server& server, const std::string& object, std::string_view line) {
  const char kind = static_cast<char>(line[0] | 0x20);
  std::string target = object + (line[0] == kind ? "" : "/status");
  if (kind == 'a') target += line.size() % 2 ? "?fieldManager=one" : "?fieldManager=two&force=true";
  const std::string body(line.substr(1));
  const std::string method = kind == 'u' ? "PUT" : "PATCH";
  const Reply before = server.call("GET", object);
  const Reply reply = server.call(method, target, body, {{"Content-Type", media_type(kind)}});
  CHECK(reply.status >= 200 && (reply.status < 500 || undeclared_field(kind, reply)), reply.text);
  const Reply after = server.call("GET", object);
  CHECK(after.status == 200 || before.status == 404, after.text);
  if (reply.status >= 300) CHECK(after.text == before.text, "a refused write changed the object");
  if (kind == 'a' && reply.status < 300 && before.status == 200) {
    const Reply again = server.call(method, target, body, {{"Content-Type", media_type(kind)}});
    CHECK(again.status == 200 && again.text == reply.text,
          "applied twice, it differs: " + reply.text + " and " + again.text);
  }
}

}  // namespace
}  // namespace hekla::apiserver

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hekla::apiserver;
  static std::unique_ptr<Server> server;
  static int inputs = 0;
  if (inputs++ % 2'000 == 0)
    server = std::make_unique<Server>();  // its history would grow without end
  if (size < 2) return 0;
  const Example& example = kExamples[data[0] % kExamples.size()];
  const std::string object = std::string(example.collection) + "/x";
  const Reply made = server->call("POST", example.collection, example.object);
  CHECK(made.status == 201, made.text);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (int lines = 0; !rest.empty() && lines < 8; ++lines) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    if (!line.empty()) write(*server, object, line);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  // Whatever the patches made of it goes away, finalizers or not.
  server->call("PATCH", object, R"({"metadata":{"finalizers":null}})",
               {{"Content-Type", "application/merge-patch+json"}});
  server->call("DELETE", object + "?gracePeriodSeconds=0");
  CHECK(server->call("GET", object).status == 404, "the object is still there");
  return 0;
}
