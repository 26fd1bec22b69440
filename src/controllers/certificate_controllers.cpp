#include "controllers/certificate_controllers.h"

#include <vector>

#include "controllers/certificates/certificate.h"
#include "controllers/certificates/issuer.h"
#include "controllers/certificates/unobeyed.h"
#include "framework/kind_controller.h"
#include "kube/cache_set.h"

namespace hekla::controllers {

struct CertificateControllers::Parts {
  kube::CacheSet caches;
  std::vector<std::unique_ptr<framework::KindController>> kinds;

  explicit Parts(kube::Client& client) : caches(client) {
    add(certificates::issuer_description(certificates::issuers));
    add(certificates::issuer_description(certificates::cluster_issuers));
    add(certificates::certificate_description());
    for (framework::KindDescription& kind : certificates::unobeyed_descriptions())
      add(std::move(kind));
  }
  void add(framework::KindDescription kind) {
    kinds.push_back(std::make_unique<framework::KindController>(caches, std::move(kind)));
  }
};

CertificateControllers::CertificateControllers(kube::Client& client)
    : parts_(std::make_unique<Parts>(client)) {}

CertificateControllers::~CertificateControllers() = default;

void CertificateControllers::start() { parts_->caches.start(); }

}  // namespace hekla::controllers
