#include <gtest/gtest.h>

#include <filesystem>

#include "base/disk.h"
#include "base/temp_dir_test.h"
#include "json/parse.h"
#include "kube/rest/exec_credentials.h"
#include "kube/rest_client.h"

namespace hekla::kube {
namespace {

class Kubeconfig : public testing::Test {
 protected:
  std::string put(const std::string& name, const std::string& text) {
    EXPECT_TRUE(write_file_atomically(directory + name, text, 0600));
    return directory + name;
  }
  std::string error_of(const std::string& text, const std::string& context = {}) {
    Result<ClusterAccess> access = load_kubeconfig(put("config", text), context);
    if (access) return "no error";
    std::string message = access.error().message;
    return message.starts_with(directory + "config") ? message.substr(directory.size()) : message;
  }
  TempDir temp;
  const std::string directory = temp.path() + "/";
};

const std::string kWhole = R"(
apiVersion: v1
kind: Config
current-context: prod
clusters:
- name: c1
  cluster:
    server: https://10.0.0.1:6443/
    certificate-authority-data: Q0E=
- name: c2
  cluster: {server: "http://127.0.0.1:8080", insecure-skip-tls-verify: true, tls-server-name: kubernetes,
            certificate-authority: ca.crt}
contexts:
- name: prod
  context: {cluster: c1, user: u1, namespace: team-a}
- name: test
  context: {cluster: c2, user: u2}
- {name: anonymous, context: {cluster: c1}}
users:
- name: u1
  user:
    client-certificate-data: Q0VSVA==
    client-key-data: S0VZ
- name: u2
  user: {token: secret, tokenFile: tok/en}
)";

TEST_F(Kubeconfig, CurrentContextWithInlineData) {
  ClusterAccess access = load_kubeconfig(put("config", kWhole)).value();
  EXPECT_EQ(access.server, "https://10.0.0.1:6443");
  EXPECT_EQ(access.default_namespace, "team-a");
  EXPECT_EQ(access.http.ca_pem, "CA");
  ASSERT_TRUE(access.http.certificate);
  EXPECT_EQ(access.http.certificate->certificate_pem, "CERT");
  EXPECT_EQ(access.http.certificate->key_pem, "KEY");
  EXPECT_FALSE(access.http.insecure_skip_verify);
}

TEST_F(Kubeconfig, NamedContextWithFilesBesideTheKubeconfig) {
  put("ca.crt", "FROM FILE");
  ClusterAccess access = load_kubeconfig(put("config", kWhole), "test").value();
  EXPECT_EQ(access.server, "http://127.0.0.1:8080");
  EXPECT_EQ(access.default_namespace, "default");
  EXPECT_EQ(access.http.ca_pem, "FROM FILE");
  EXPECT_EQ(access.http.bearer_token, "secret");
  EXPECT_EQ(access.http.bearer_token_file, directory + "tok/en");
  EXPECT_EQ(access.http.tls_server_name, "kubernetes");
  EXPECT_TRUE(access.http.insecure_skip_verify);
}

TEST_F(Kubeconfig, AContextNeedsNoUser) {
  ClusterAccess access = load_kubeconfig(put("config", kWhole), "anonymous").value();
  EXPECT_FALSE(access.http.certificate);
  EXPECT_EQ(access.http.bearer_token, "");
}

TEST_F(Kubeconfig, DataWinsOverTheFile) {
  std::string text = R"({current-context: a, contexts: [{name: a, context: {cluster: a}}],
    clusters: [{name: a, cluster: {server: "https://h", certificate-authority: /does/not/exist,
                                   certificate-authority-data: Q0E=}}]})";
  EXPECT_EQ(load_kubeconfig(put("config", text))->http.ca_pem, "CA");
}

TEST_F(Kubeconfig, ErrorsNameFileAndField) {
  auto with = [](const std::string& cluster, const std::string& user) {
    return "{current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}], clusters: "
           "[{name: c, cluster: {" +
           cluster + "}}], users: [{name: u, user: {" + user + "}}]}";
  };
  const std::string server = "server: https://h";
  EXPECT_EQ(error_of(kWhole, "staging"), "config: context \"staging\" does not exist");
  EXPECT_EQ(error_of("{}"), "config: current-context: missing");
  EXPECT_EQ(error_of(""), "config: the file is empty");
  EXPECT_EQ(error_of(with("", "")), "config: cluster \"c\": server: missing");
  EXPECT_EQ(error_of(with(server + ", certificate-authority-data: '*'", "")),
            "config: cluster \"c\": certificate-authority-data: not base64");
  EXPECT_TRUE(error_of(with(server + ", certificate-authority: nowhere.crt", ""))
                  .starts_with("config: cluster \"c\": certificate-authority: "));
  EXPECT_EQ(error_of(with(server, "client-certificate-data: Q0E=")),
            "config: user \"u\": client-key: missing, the other half is there");
  EXPECT_EQ(error_of(with(server, "auth-provider: {name: gcp}")),
            "config: user \"u\": auth-provider: such providers are gone from Kubernetes; use exec");
  EXPECT_EQ(
      error_of(with(server, "exec: {command: aws}")),
      "config: user \"u\": exec: apiVersion must be specified to use exec authentication plugin");
  const std::string version = "apiVersion: client.authentication.k8s.io/v1";
  EXPECT_EQ(error_of(with(server, "exec: {" + version + ", command: aws}")),
            "config: user \"u\": exec: interactiveMode must be specified to use exec "
            "authentication plugin");
  EXPECT_EQ(
      error_of(
          with(server, "exec: {" + version +
                           ", interactiveMode: Never, command: hekla-none, installHint: Get it.}")),
      "config: user \"u\": getting credentials: exec: executable hekla-none not found\n\nGet it.");
  EXPECT_EQ(error_of("{current-context: a, contexts: [{name: a, context: {cluster: c}}]}"),
            "config: cluster \"c\" does not exist");
  EXPECT_NE(error_of("a: [b"), "no error");
  EXPECT_FALSE(load_kubeconfig(directory + "missing"));
}

TEST_F(Kubeconfig, AProgramSaysWhoTheUserIs) {
  // Prints what it was told and how often it was asked.
  const std::string program = put("credential", R"SH(#!/bin/sh
echo asked >> "$COUNT"
[ "$1" = good ] || exit 7
cat <<END
{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
 "status":{"token":"t$(wc -l < "$COUNT" | tr -d ' ')","expirationTimestamp":"2000-01-01T00:00:00Z"}}
END
echo "$KUBERNETES_EXEC_INFO" > "$COUNT.info"
)SH");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto config = [&](const std::string& argument) {
    return put("config",
               R"({current-context: a, contexts: [{name: a, context: {cluster: c, user: u}}],
      clusters: [{name: c, cluster: {server: "https://h", certificate-authority-data: Q0E=, extensions: [
        {name: client.authentication.k8s.io/exec, extension: {audience: x}}]}}],
      users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never,
        command: ./credential, args: [)" +
                   argument + R"(], env: [{name: COUNT, value: ")" + directory + R"(count"}],
        provideClusterInfo: true}}}]})");
  };
  EXPECT_EQ(load_kubeconfig(config("bad")).error().message,
            directory + "config: user \"u\": getting credentials: exec: executable " + directory +
                "credential failed with exit code 7");
  Result<ClusterAccess> access = load_kubeconfig(config("good"));
  ASSERT_TRUE(access) << access.error().message;
  ASSERT_TRUE(access->http.credentials);
  EXPECT_EQ(access->http.credentials->current().token, "t3") << "the first one had expired already";
  const json::Value info = json::parse(read_file(directory + "count.info").value()).value();
  EXPECT_EQ(json::string_at(info, {"kind"}), "ExecCredential");
  EXPECT_EQ(json::string_at(info, {"spec", "cluster", "server"}), "https://h");
  EXPECT_EQ(json::string_at(info, {"spec", "cluster", "certificate-authority-data"}), "Q0E=");
  EXPECT_EQ(json::string_at(info, {"spec", "cluster", "config", "audience"}), "x");
}

class ExecCredentialsTest : public Kubeconfig {
 protected:
  struct Clock final : hekla::Clock {
    MonoTime mono() const override { return MonoTime(elapsed); }
    WallTime wall() const override {
      return WallTime(std::chrono::seconds(1'800'000'000) + elapsed);
    }
    Nanos elapsed = std::chrono::hours(1);
  };
  // A plugin that prints `status`, with $N for how often it was asked.
  ExecPlugin plugin(const std::string& status) {
    return {
        "client.authentication.k8s.io/v1beta1",
        {"sh", "-c",
         "echo x >> " + directory + "asked; N=$(wc -l < " + directory + "asked); cat <<END\n" +
             R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":)" +
             status + "}\nEND"},
        {},
        "",
        std::nullopt};
  }
  Clock clock;
};

TEST_F(ExecCredentialsTest, WhatWasPrintedIsGoodUntilItExpires) {
  ExecCredentials credentials(
      plugin(R"({"token":"t$N","expirationTimestamp":"2027-01-15T09:10:00Z"})"), clock);
  const std::string first = credentials.current().token;
  EXPECT_EQ(credentials.current().token, first);
  clock.elapsed = std::chrono::hours(1) + std::chrono::seconds(5);
  credentials.refused();
  EXPECT_EQ(credentials.current().token, first) << "just fetched";
  clock.elapsed += std::chrono::seconds(10);
  credentials.refused();
  const std::string second = credentials.current().token;
  EXPECT_NE(second, first);
  clock.elapsed += std::chrono::hours(24 * 365);
  EXPECT_NE(credentials.current().token, second);
}

TEST_F(ExecCredentialsTest, CertificatesAndMistakes) {
  ExecCredentials good(plugin(R"({"clientCertificateData":"C","clientKeyData":"K"})"), clock);
  ASSERT_TRUE(good.refresh());
  EXPECT_EQ(good.current().certificate->certificate_pem, "C");
  auto error = [&](const std::string& status) {
    return ExecCredentials(plugin(status), clock).refresh().error().message;
  };
  EXPECT_EQ(error(R"({"clientKeyData":"K"})"),
            "exec plugin returned only certificate or key, not both");
  EXPECT_EQ(error("{}"), "exec plugin didn't return a token or cert/key pair");
  EXPECT_EQ(error("null"), "exec plugin didn't return a status field");
  ExecPlugin other = plugin(R"({"token":"t"})");
  other.api_version = "client.authentication.k8s.io/v1";
  EXPECT_EQ(ExecCredentials(other, clock).refresh().error().message,
            "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin "
            "returned version "
            "client.authentication.k8s.io/v1beta1");
}

TEST_F(Kubeconfig, WhatIsMadeCanBeRead) {
  KeyPair client{"CERT\nPEM\n", "KEY\nPEM\n"};
  std::string text = make_kubeconfig("hekla", "https://127.0.0.1:6443", "CA\nPEM\n", client);
  ClusterAccess access = load_kubeconfig(put("config", text)).value();
  EXPECT_EQ(access.server, "https://127.0.0.1:6443");
  EXPECT_EQ(access.http.ca_pem, "CA\nPEM\n");
  EXPECT_EQ(access.http.certificate->key_pem, client.key_pem);
}

TEST_F(Kubeconfig, InsideAPod) {
  put("ca.crt", "CA");
  EXPECT_FALSE(in_cluster_access("https://10.0.0.1:443", directory));
  put("token", "t");
  put("namespace", "team-b\n");
  ClusterAccess access = in_cluster_access("https://10.0.0.1:443", directory).value();
  EXPECT_EQ(access.server, "https://10.0.0.1:443");
  EXPECT_EQ(access.default_namespace, "team-b");
  EXPECT_EQ(access.http.bearer_token_file, directory + "/token");
}

TEST_F(Kubeconfig, SeveralFilesAreOneAndTheFirstWins) {
  const std::string first = put("first", R"(
contexts: [{name: here, context: {cluster: c1, user: u2}}]
users: [{name: u2, user: {token: mine, tokenFile: own/token}}]
)");
  const std::string list = ":" + directory + "absent:" + first + ":" + put("config", kWhole);
  ClusterAccess access = load_kubeconfig(list).value();
  EXPECT_EQ(access.default_namespace, "team-a")
      << "current-context comes from the only file that has one";
  access = load_kubeconfig(list, "here").value();
  EXPECT_EQ(access.server, "https://10.0.0.1:6443");
  EXPECT_EQ(access.http.bearer_token, "mine");
  EXPECT_EQ(access.http.bearer_token_file, directory + "own/token");
  EXPECT_EQ(load_kubeconfig(list, "nowhere").error().message,
            first + ": context \"nowhere\" does not exist");
  EXPECT_EQ(load_kubeconfig(directory + "absent:" + directory + "gone").error().code,
            Code::not_found);
}

}  // namespace
}  // namespace hekla::kube
