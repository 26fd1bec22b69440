// Volumes and mounts of a pod, and the files that tell of the pod itself.
#include "apiserver/kinds/pod/pod_rules.h"
#include "apiserver/kinds/rules/volume_rules.h"
#include "model/quantity.h"

namespace hekla::apiserver {
namespace {

void check_mode(const Field& mode, Rules& rules) {
  if (mode.present() && (mode.number() < 0 || mode.number() > 0777))
    rules.invalid(mode, "must be a number between 0 and 0777 (octal), both inclusive");
}

void check_no_backsteps(const Field& at, std::string_view path, Rules& rules) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") {
      rules.invalid(at, json::Value(path), "must not contain '..'");
      return;
    }
    begin = end + 1;
  }
}

// A path of a file in a volume, where names that begin with two dots are the node's own.
void check_file_path(const Field& at, std::string_view path, Rules& rules) {
  validate_descending_path(at, path, rules);
  if (path.starts_with("..") && path != ".." && !path.starts_with("../"))
    rules.invalid(at, json::Value(path), "must not start with '..'");
}

void check_items(const Field& source, Rules& rules) {
  check_mode(source["defaultMode"], rules);
  for (std::size_t i = 0; i < source["items"].items().size(); ++i) {
    const Field item = source["items"].at(i);
    rules.need_text(item["key"]);
    rules.need_text(item["path"]);
    check_file_path(item["path"], item["path"].text(), rules);
    check_mode(item["mode"], rules);
  }
}

// Upstream complains of the list's place, not of the item's.
void check_downward(const Field& source, Rules& rules) {
  check_mode(source["defaultMode"], rules);
  for (const json::Value& one : source["items"].items()) {
    const Field item(one, source.path());
    rules.need_text(item["path"]);
    check_file_path(item["path"], item["path"].text(), rules);
    if (item["fieldRef"].present()) {
      validate_field_reference(item["fieldRef"], true, rules);
      if (item["resourceFieldRef"].present())
        rules.invalid(item, json::Value("resource"),
                      "fieldRef and resourceFieldRef can not be specified simultaneously");
    } else if (item["resourceFieldRef"].present()) {
      validate_resource_reference(item["resourceFieldRef"], true, rules);
    } else {
      rules.required(item, "one of fieldRef and resourceFieldRef is required");
    }
    check_mode(item["mode"], rules);
  }
}

void check_token(const Field& projected, const Field& token, Rules& rules) {
  const Field seconds = token["expirationSeconds"];
  if (seconds.number(3600) < 600)
    rules.invalid(seconds, "may not specify a duration less than 10 minutes");
  if (seconds.number() > std::int64_t{1} << 32)
    rules.invalid(seconds, "may not specify a duration larger than 2^32 seconds");
  if (token["path"].text().empty())
    rules.required(projected["path"]);
  else
    check_file_path(projected["path"], token["path"].text(), rules);
}

// Two sources cannot write the same file.
void check_paths_differ(const Field& projected, Rules& rules) {
  std::set<std::string_view> paths;
  for (const json::Value& source : projected["sources"].items())
    for (std::string_view kind : {"secret", "configMap", "downwardAPI"}) {
      const json::Array* items = json::array_at(source, {kind, "items"});
      if (!items) continue;
      for (const json::Value& item : *items) {
        const std::string_view path = json::string_at(item, {"path"});
        const std::string_view shown =
            kind == "downwardAPI" ? path : json::string_at(source, {kind, "name"});
        if (!path.empty() && !paths.insert(path).second)
          rules.invalid(projected, json::Value(shown), "conflicting duplicate paths");
      }
    }
}

void check_projected(const Field& projected, Rules& rules) {
  check_mode(projected["defaultMode"], rules);
  for (std::size_t i = 0; i < projected["sources"].items().size(); ++i) {
    const Field source = projected["sources"].at(i);
    if (source.members().empty())
      rules.required(
          source,
          "must specify one of: `secret`, `configMap`, `downwardAPI` or `serviceAccountToken`");
    for (std::string_view kind : {"secret", "configMap"}) {
      if (!source[kind].present()) continue;
      rules.need_text(source[kind]["name"]);
      check_items(source[kind], rules);
    }
    if (source["downwardAPI"].present()) check_downward(source["downwardAPI"], rules);
    if (source["serviceAccountToken"].present())
      check_token(projected, source["serviceAccountToken"], rules);
    // The agent would not write the file; upstream has both behind feature gates that are off.
    for (std::string_view kind : {"clusterTrustBundle", "podCertificate"})
      if (source[kind].present()) rules.forbidden(source[kind], "not supported by this cluster");
    if (source.members().size() > 1)
      rules.forbidden(source, "may not specify more than 1 volume type per source");
  }
  check_paths_differ(projected, rules);
}

// All there are, in the order in which upstream looks for them.
constexpr std::string_view kSources[]{"emptyDir",
                                      "hostPath",
                                      "gitRepo",
                                      "gcePersistentDisk",
                                      "awsElasticBlockStore",
                                      "secret",
                                      "nfs",
                                      "iscsi",
                                      "glusterfs",
                                      "flocker",
                                      "persistentVolumeClaim",
                                      "rbd",
                                      "cinder",
                                      "cephfs",
                                      "quobyte",
                                      "downwardAPI",
                                      "fc",
                                      "flexVolume",
                                      "configMap",
                                      "azureFile",
                                      "vsphereVolume",
                                      "photonPersistentDisk",
                                      "portworxVolume",
                                      "azureDisk",
                                      "storageos",
                                      "projected",
                                      "scaleIO",
                                      "csi",
                                      "ephemeral",
                                      "image"};

void check_range(const Field& field, std::int64_t most, Rules& rules) {
  if (field.number() < 0 || field.number() > most)
    rules.invalid(field, "must be between 0 and " + std::to_string(most) + ", inclusive");
}

void check_fibre_channel(const Field& source, Rules& rules) {
  const Field targets = source["targetWWNs"];
  if (targets.items().empty() && source["wwids"].items().empty())
    rules.required(targets, "must specify either targetWWNs or wwids, but not both");
  if (!targets.items().empty() && !source["wwids"].items().empty())
    rules.invalid(targets, "targetWWNs and wwids can not be specified simultaneously");
  if (targets.items().empty()) return;
  if (!source["lun"].present())
    rules.required(source["lun"], "lun is required if targetWWNs is specified");
  else
    check_range(source["lun"], 255, rules);
}

void check_iscsi(const Field& source, Rules& rules) {
  rules.need_text(source["targetPortal"]);
  const std::string_view name = source["iqn"].text();
  const bool known = name.starts_with("iqn") || name.starts_with("eui") || name.starts_with("naa");
  if (rules.need_text(source["iqn"]) && !known)
    rules.invalid(source["iqn"], "must be valid format starting with iqn, eui, or naa");
  check_range(source["lun"], 255, rules);
  if ((source["chapAuthDiscovery"].flag() || source["chapAuthSession"].flag()) &&
      !source["secretRef"].present())
    rules.required(source["secretRef"]);
}

void check_csi(const Field& source, Rules& rules) {
  const json::Value driver(source["driver"].text());
  validate_driver_name(Field(driver, source["driver"].path()), rules);
  if (const Field secret = source["nodePublishSecretRef"];
      secret.present() && rules.need_text(secret["name"]))
    rules.dns_subdomain(Field(secret["name"].value(), source.path() + ".name"));
}

void check_ephemeral(const Field& source, Rules& rules) {
  const Field claim = source["volumeClaimTemplate"];
  if (!claim.present()) {
    rules.required(claim);
    return;
  }
  rules.labels(claim["metadata"]["labels"]);
  for (const auto& member : claim["metadata"].members())
    if (member.key() != "labels" && member.key() != "annotations" && !member.value().is_null())
      rules.forbidden(claim["metadata"][member.key()], "cannot be set");
  validate_claim_spec(claim["spec"], rules);
}

void check_source(const Field& volume, std::string_view kind, Rules& rules) {
  const Field source = volume[kind];
  if (kind == "hostPath") {
    if (rules.need_text(source["path"]))
      check_no_backsteps(source["path"], source["path"].text(), rules);
    rules.one_of(source["type"], {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate",
                                  "File", "FileOrCreate", "Socket"});
  } else if (kind == "secret") {
    rules.need_text(source["secretName"]);
    check_items(source, rules);
  } else if (kind == "configMap") {
    rules.need_text(source["name"]);
    check_items(source, rules);
  } else if (kind == "downwardAPI") {
    check_downward(source, rules);
  } else if (kind == "projected") {
    check_projected(source, rules);
  } else if (kind == "persistentVolumeClaim") {
    rules.need_text(source["claimName"]);
  } else if (kind == "nfs") {
    rules.need_text(source["server"]);
    if (rules.need_text(source["path"]) && !source["path"].text().starts_with('/'))
      rules.invalid(source["path"], "must be an absolute path");
  } else if (kind == "iscsi") {
    check_iscsi(source, rules);
  } else if (kind == "fc") {
    check_fibre_channel(source, rules);
  } else if (kind == "csi") {
    check_csi(source, rules);
  } else if (kind == "ephemeral") {
    check_ephemeral(source, rules);
  } else if (kind == "emptyDir") {
    auto limit = model::Quantity::from_json(source["sizeLimit"].value());
    if (source["sizeLimit"].present() && limit && limit->nanos < 0)
      rules.forbidden(source["sizeLimit"], "SizeLimit field must be a valid resource quantity");
  }
}

void check_propagation(const Field& mounts, const Field& mount, bool privileged, Rules& rules) {
  const Field mode(mount["mountPropagation"].value(), mounts["mountPropagation"].path());
  rules.one_of(mode, {"Bidirectional", "HostToContainer", "None"});
  if (mode.text() == "Bidirectional" && !privileged)
    rules.forbidden(mode,
                    "Bidirectional mount propagation is available only to privileged containers");
  const Field deep(mount["recursiveReadOnly"].value(), mounts["recursiveReadOnly"].path());
  if (!rules.one_of(deep, {"Disabled", "Enabled", "IfPossible"}) || deep.text().empty() ||
      deep.text() == "Disabled")
    return;
  if (!mount["readOnly"].flag())
    rules.forbidden(deep, "may only be specified when readOnly is true");
  if (!mode.text().empty() && mode.text() != "None")
    rules.forbidden(deep, "may only be specified when mountPropagation is None or not specified");
}

}  // namespace

void validate_descending_path(const Field& at, std::string_view path, Rules& rules) {
  if (path.starts_with('/')) rules.invalid(at, json::Value(path), "must be a relative path");
  check_no_backsteps(at, path, rules);
}

void validate_volumes(const Field& volumes, std::set<std::string>& names, Rules& rules) {
  for (std::size_t i = 0; i < volumes.items().size(); ++i) {
    const Field volume = volumes.at(i);
    const std::size_t before = rules.causes.size();
    int sources = 0;
    for (std::string_view kind : kSources) {
      if (!volume[kind].present()) continue;
      if (++sources > 1)
        rules.forbidden(volume[kind], "may not specify more than 1 volume type");
      else
        check_source(volume, kind, rules);
    }
    if (sources == 0) rules.required(volume, "must specify a volume type");
    if (rules.need_text(volume["name"])) rules.dns_label(volume["name"]);
    if (names.contains(std::string(volume["name"].text()))) rules.duplicate(volume["name"]);
    if (rules.causes.size() == before) names.emplace(volume["name"].text());
  }
}

void validate_mounts(const Field& container, const std::set<std::string>& volumes, Rules& rules) {
  const Field mounts = container["volumeMounts"];
  const bool privileged = container["securityContext"]["privileged"].flag();
  std::set<std::string> paths;
  for (std::size_t i = 0; i < mounts.items().size(); ++i) {
    const Field mount = mounts.at(i);
    rules.need_text(mount["name"]);
    if (!volumes.contains(std::string(mount["name"].text()))) rules.not_found(mount["name"]);
    rules.need_text(mount["mountPath"]);
    if (!paths.insert(std::string(mount["mountPath"].text())).second)
      rules.invalid(mount["mountPath"], "must be unique");
    validate_descending_path(mounts["subPath"], mount["subPath"].text(), rules);
    if (!mount["subPathExpr"].text().empty() && !mount["subPath"].text().empty())
      rules.invalid(mount["subPathExpr"], "subPathExpr and subPath are mutually exclusive");
    validate_descending_path(mounts["subPathExpr"], mount["subPathExpr"].text(), rules);
    check_propagation(mounts, mount, privileged, rules);
  }
}

}  // namespace hekla::apiserver
