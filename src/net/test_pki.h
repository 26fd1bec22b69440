// For tests: one CA with a server's and a client's certificate, made once.
#pragma once

#include "base/crypto.h"

namespace hekla::net {

struct TestPki {
  KeyPair ca, server, admin, other_ca, stranger;

  static const TestPki& get() {
    static const TestPki pki = [] {
      TestPki made;
      made.ca = make_ca("test-ca", real_clock()).value();
      made.other_ca = make_ca("other-ca", real_clock()).value();
      CertificateRequest server{.common_name = "server",
                                .dns_names = {"localhost"},
                                .ip_addresses = {"127.0.0.1"},
                                .for_server = true};
      made.server = make_certificate(made.ca, server, real_clock()).value();
      CertificateRequest admin{.common_name = "kubernetes-admin",
                               .organizations = {"system:masters", "dev"},
                               .for_client = true};
      made.admin = make_certificate(made.ca, admin, real_clock()).value();
      made.stranger = make_certificate(made.other_ca, admin, real_clock()).value();
      return made;
    }();
    return pki;
  }
};

}  // namespace hekla::net
