#include "gateway/routes/example_routes_test.h"
#include "gateway/web_table.h"

namespace hekla::gateway {
namespace {

net::Request request(std::vector<std::pair<std::string, std::string>> headers = {}) {
  net::Request made;
  made.method = "GET";
  made.headers.add("Host", "localhost:8080");
  for (auto& [name, value] : headers) made.headers.add(name, value);
  return made;
}

Path path(const std::string& target) { return read_path(target).value(); }

std::string seen_path(const RouteTable& table, const std::string& target) {
  const Path asked = path(target);
  const RouteTable::Found found = table.find(request(), asked);
  return found.rule ? asked.target(rewritten(*found.rule, *found.match, asked.text)) : "none";
}

TEST(Routes, MatchAsIstioDoes) {
  const RouteTable table(
      {good_rules("a", to_service("/notebook/a/nb/", "nb") + "," +
                           to_service("/notebook/a/code/", "code", R"(,"rewrite":{"uri":"/"})") +
                           R"(,{"match":[{"uri":{"exact":"/one"}},{"uri":{"regex":"/two/[0-9]+"}}],
                                "route":[{"destination":{"host":"s"}}]},)" +
                           R"({"match":[{"uri":{"prefix":"/Case","x":1},"ignoreUriCase":true,
                                         "headers":{"x-a":{"exact":"1"}},
                                         "withoutHeaders":{"x-b":{}},
                                         "queryParams":{"q":{"prefix":"v"}},
                                         "method":{"exact":"GET"}}],
                                "route":[{"destination":{"host":"s"}}]},)" +
                           to_service("/plain", "s"))},
      {});
  const std::vector<std::pair<std::string, std::string>> rows{
      {"/notebook/a/nb/lab", "/notebook/a/nb/lab"},
      {"/notebook/a/code/", "/"},
      {"/notebook/a/code/x?y=%2F", "/x?y=%2F"},
      {"/notebook/a/nb/../../b/nb/", "none"},
      {"/notebook/a/nb", "none"},
      {"/one", "/one"},
      {"/one/", "none"},
      {"/two/12", "/two/12"},
      {"/two/12/", "none"},
      {"/x/two/12", "none"},
      {"/plainer", "/plainer"},
      {"/case?q=v1", "none"},
  };
  for (const auto& [target, seen] : rows) EXPECT_EQ(seen_path(table, target), seen) << target;
  const Path named = path("/cAsE/x?q=v1");
  EXPECT_TRUE(table.find(request({{"X-A", "1"}}), named).rule);
  EXPECT_FALSE(table.find(request({{"X-A", "2"}}), named).rule);
  EXPECT_FALSE(table.find(request({{"X-A", "1"}, {"X-B", "any"}}), named).rule);
  EXPECT_FALSE(table.find(request({{"X-A", "1"}}), path("/case?q=w")).rule);
  net::Request post = request({{"X-A", "1"}});
  post.method = "POST";
  EXPECT_FALSE(table.find(post, named).rule);
}

TEST(Routes, AForgottenSlashIsKnown) {
  const RouteTable table({good_rules("a", to_service("/notebook/a/nb/", "nb"))}, {});
  EXPECT_TRUE(table.lacks_slash(request(), path("/notebook/a/nb")));
  EXPECT_FALSE(table.lacks_slash(request(), path("/notebook/a")));
  EXPECT_FALSE(table.lacks_slash(request(), path("/notebook/a/nb/lab")));
}

TEST(Routes, EarlierRulesWinAndWeightsDivide) {
  const RouteTable table(
      {good_rules("a", to_service("/app/", "old")), good_rules("a", to_service("/app/", "new"))},
      {});
  EXPECT_EQ(table.find(request(), path("/app/")).rule->destinations[0].service.name, "old");
  const RouteTable::Rules rules = good_rules("a", R"({"match":[{"uri":{"prefix":"/w/"}}],
               "route":[{"destination":{"host":"x"},"weight":90},
                        {"destination":{"host":"y"},"weight":10},{"destination":{"host":"z"}}]})");
  int to_y = 0;
  for (std::uint64_t i = 0; i < 100; ++i) to_y += choose(rules->front(), i)->service.name == "y";
  EXPECT_EQ(to_y, 10);
}

TEST(Routes, ClaimsAreThoseWithoutConditions) {
  const auto claims = [](const std::string& match) {
    return unconditional_claims(
        good_rules("a", R"({"match":[)" + match + R"(],"route":[{"destination":{"host":"s"}}]})")
            ->front());
  };
  using Claims = std::vector<std::string>;
  EXPECT_EQ(claims(R"({"uri":{"prefix":"/x/"}},{"uri":{"exact":"/y"}})"),
            (Claims{"prefix /x/ of host *", "path /y of host *"}));
  EXPECT_EQ(claims(R"({"uri":{"prefix":"/x/"},"method":{"exact":"GET"}})"), Claims{});
  EXPECT_EQ(claims(R"({"uri":{"prefix":"/x/"},"headers":{"a":{"exact":"b"}}})"), Claims{});
}

TEST(Routes, WhatCannotBeObeyedIsRefusedByField) {
  const std::string route = R"("route":[{"destination":{"host":"s"}}])";
  const std::vector<std::pair<std::string, std::string>> rows{
      {R"({"match":[{"uri":{"suffix":"/x"}}],)" + route + "}", "spec.http[0].match[0].uri: must"},
      {R"({"match":[{"uri":{"regex":"("}}],)" + route + "}", "spec.http[0].match[0].uri.regex"},
      {R"({"match":[{"uri":{"prefix":"/x"},"port":80}],)" + route + "}", "match[0].port: is not"},
      {R"({"match":["/x"],)" + route + "}", "spec.http[0].match[0]: must be an object"},
      {R"({"rewrite":{"uri":"/a HTTP/1.1\r\nX: y"},)" + route + "}", "spec.http[0].rewrite.uri"},
      {R"({"rewrite":{"uri":"x"},)" + route + "}", "spec.http[0].rewrite.uri"},
      {R"({"rewrite":{"uri":"/x?y"},)" + route + "}", "rewrite.uri: must not have a query"},
      {R"({"rewrite":{"authority":"a\r\nb"},)" + route + "}", "spec.http[0].rewrite.authority"},
      {R"({"redirect":{"uri":"/\r\n"}})", "spec.http[0].redirect: has a control character"},
      {R"({"timeout":"soon",)" + route + "}", "soon"},
      {R"({"route":[{"destination":{"host":"s","subset":"v1"}}]})", "destination.subset: is not"},
      {R"({"route":[{"destination":{"host":"s","port":{"number":99999}}}]})", "is no port"},
      {R"({"match":[{"uri":{"prefix":"/x"}}]})", "spec.http[0]: has neither a route nor"},
      {R"({"directResponse":{"status":100}})", "spec.http[0].directResponse.status"},
  };
  for (const auto& [http, message] : rows) {
    const Result<std::vector<Rule>> rules = rules_of("a", http);
    ASSERT_FALSE(rules) << http;
    EXPECT_TRUE(rules.error().message.contains(message)) << rules.error().message;
  }
}

TEST(Routes, HeadersThatNameSomebodyAreNotForRoutesToSet) {
  std::vector<std::string> remarks;
  const auto rules = rules_of_virtual_service(
      virtual_service("a", to_service("/x/", "s", R"(,"headers":{"request":{"set":{
          "kubeflow-userid":"eve","Cookie":"a=b","X-RStudio-Root-Path":"/x/","X-Bad":"a\r\nb"},
          "remove":["X-Gone"]},"response":{"add":{"Set-Cookie":"oauth2_proxy_kubeflow=x"}}})")),
      remarks);
  ASSERT_TRUE(rules);
  net::Headers headers;
  headers.add("x-gone", "1");
  headers.add("x-rstudio-root-path", "mine");
  rules->front().request.apply(headers);
  EXPECT_EQ(headers.all().size(), 1u);
  EXPECT_EQ(headers.get("X-RStudio-Root-Path"), "/x/");
  EXPECT_TRUE(rules->front().response.add.empty());
  EXPECT_EQ(remarks.size(), 4u);
}

TEST(Routes, OnlyOurGatewayIsOurs) {
  EXPECT_TRUE(is_for_us(virtual_service("a", "")));
  EXPECT_TRUE(is_for_us(object_of(
      R"({"metadata":{"name":"v","namespace":"kubeflow"},"spec":{"gateways":["kubeflow-gateway"]}})")));
  EXPECT_FALSE(is_for_us(object_of(
      R"({"metadata":{"name":"v","namespace":"a"},"spec":{"gateways":["kubeflow-gateway","mesh"]}})")));
  EXPECT_FALSE(is_for_us(object_of(R"({"metadata":{"name":"v","namespace":"a"},"spec":{}})")));
}

TEST(Routes, NobodyTakesWhatIsNotTheirs) {
  kube::WebRoute jupyter;
  jupyter.prefix = "/jupyter/";
  jupyter.handler = [](const kube::WebExchange&) {};
  const WebTable fixed = WebTable::make({jupyter}).value();
  const auto why = [&](const std::string& ns, const std::string& http) {
    const RouteTable::Rules rules = good_rules(ns, http);
    return trespass(rules->front(), [&](std::string_view prefix) { return fixed.owns(prefix); });
  };
  const std::string route = R"("route":[{"destination":{"host":"s"}}])";
  const auto uri = [&](const std::string& match, const std::string& more = "") {
    return R"({"match":[{"uri":)" + match + more + "}]," + route + "}";
  };
  for (const std::string& fine :
       {to_service("/notebook/a/nb/", "nb"), to_service("/mlflow/", "s"),
        uri(R"({"regex":"/notebook/a/x/.*"})"), uri(R"({"exact":"/mine"})"),
        to_service("/x/", "s.a.svc.cluster.local")})
    EXPECT_EQ(why("a", fine), "") << fine;
  for (const std::string& bad : {to_service("/", "s"),
                                 to_service("/jupyter/", "s"),
                                 to_service("/jup", "s"),
                                 to_service("/JUPYTER/api", "s"),
                                 to_service("/notebook/b/nb/", "s"),
                                 to_service("/notebook/a", "s"),
                                 to_service("/notebook/ab/", "s"),
                                 to_service("/note", "s"),
                                 to_service("/tensorboard/", "s"),
                                 to_service("/pvcviewer/b/v/", "s"),
                                 uri(R"({"prefix":"/NOTEBOOK/B/"})", R"(,"ignoreUriCase":true)"),
                                 uri(R"({"regex":".*"})"),
                                 uri(R"({"regex":"/.*"})"),
                                 uri(R"({"regex":"/a/x|/.*"})"),
                                 uri(R"({"regex":"/n?.*"})"),
                                 uri(R"({"regex":"/notebook/[b]/.*"})"),
                                 "{" + route + "}",
                                 R"({"match":[{"method":{"exact":"GET"}}],)" + route + "}",
                                 to_service("/x/", "s.b"),
                                 to_service("/x/", "s.b.svc.cluster.local")})
    EXPECT_NE(why("a", bad), "") << bad;
  // The platform's own namespaces lead elsewhere, but do not take the page's paths either.
  EXPECT_EQ(why("kubeflow", to_service("/x/", "s.b")), "");
  EXPECT_NE(why("kubeflow", to_service("/", "centraldashboard")), "");
  EXPECT_NE(why("kubeflow", to_service("/jupyter/", "jupyter-web-app-service")), "");
}

TEST(Routes, RequestsAreAuthorisedByWhatTheyLeadTo) {
  const auto asked = [](const std::string& ns, const std::string& http, const std::string& target) {
    const RouteTable table({good_rules(ns, http)}, {});
    const Path at = path(target);
    const Rule* rule = table.find(request(), at).rule;
    const kube::Access access =
        access_to(*rule, rule->destinations.empty() ? nullptr : rule->destinations.data(), at);
    return access.verb + " " + access.resource.group + "/" + access.resource.plural + " " +
           access.key.ns + "/" + access.key.name;
  };
  EXPECT_EQ(asked("a", to_service("/notebook/a/nb/", "nb"), "/notebook/a/nb/lab"),
            "get kubeflow.org/notebooks a/nb");
  EXPECT_EQ(asked("a", to_service("/tensorboard/a/tb/", "tb"), "/tensorboard/a/tb/"),
            "get /services a/tb");
  // A path that names a notebook does not open another namespace's service.
  EXPECT_EQ(asked("kubeflow", to_service("/notebook/a/nb/", "s.b"), "/notebook/a/nb/"),
            "get /services b/s");
  EXPECT_EQ(asked("a", R"({"match":[{"uri":{"prefix":"/r/"}}],"redirect":{"uri":"/x"}})", "/r/"),
            "get networking.istio.io/virtualservices a/vs");
}

TEST(Routes, OnlyReadyServersOfTheClusterAreAsked) {
  const framework::AnyObject service = object_of(
      R"({"metadata":{"name":"s"},"spec":{"ports":[{"name":"http","port":80},{"name":"m","port":9}]}})");
  const auto slice = std::make_shared<const framework::AnyObject>(object_of(
      R"({"metadata":{"name":"s-1"},"ports":[{"name":"m","port":9090},{"name":"http","port":8888}],
          "endpoints":[{"addresses":["10.1.0.2"],"conditions":{"ready":true}},
                       {"addresses":["10.1.0.3"],"conditions":{"ready":false}},
                       {"addresses":["127.0.0.1"]},{"addresses":["169.254.169.254"]},
                       {"addresses":["0.0.0.0"]},{"addresses":["224.0.0.1"]},
                       {"addresses":["example.com"]},{"addresses":[]}]})"));
  const std::vector<Backend> expected{{"10.1.0.2", 8888}};
  EXPECT_EQ(ready_backends(service, {slice}, 80), expected);
  EXPECT_TRUE(ready_backends(service, {slice}, 81).empty());
  EXPECT_TRUE(ready_backends(service, {slice}, 0).empty());  // which of two?
  const framework::AnyObject outside = object_of(
      R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName","ports":[{"name":"http","port":80}]}})");
  EXPECT_TRUE(ready_backends(outside, {slice}, 80).empty());
}

}  // namespace
}  // namespace hekla::gateway
