// Dockerfiles as text: steps, words, variables, and the patterns of .dockerignore. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hekla::agent {

// A text that stands in the Dockerfile itself: <<NAME ... NAME.
struct HereDocument {
  std::string name, text;
  bool expand = true;  // the name was not quoted
};

struct DockerStep {
  int line = 0;
  std::string instruction;                   // in capitals
  std::map<std::string, std::string> flags;  // "chown" of --chown=...
  std::vector<std::string>
      mounts;        // "type=cache,target=..." of RUN --mount=..., which may be repeated
  std::string text;  // the rest, lines joined
  std::optional<std::vector<std::string>> list;  // when it is a JSON array of strings
  std::vector<HereDocument> documents;
};

struct Dockerfile {
  std::vector<DockerStep> steps;  // begins with FROM, or with ARGs and FROM
  std::vector<std::string> warnings;
  char escape = '\\';
};

// The error begins with "NAME:LINE: ".
Result<Dockerfile> parse_dockerfile(std::string_view text, std::string name = "Dockerfile");

// RUN --mount: cache, bind, tmpfs and secret, with what each of them needs.
struct RunMount {
  std::string type = "bind", target, source, from, id;
  std::string size;  // of a tmpfs, in bytes
  std::string mode, uid, gid;
  bool required = false;  // a secret
};
Result<RunMount> parse_run_mount(std::string_view text);

using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

// Quotes removed, $NAME, ${NAME}, ${NAME:-word}, ${NAME:+word} replaced; in one piece, or split at
// blanks.
Result<std::string> expand_word(std::string_view text, const VariableLookup& lookup, char escape);
Result<std::vector<std::string>> expand_words(std::string_view text, const VariableLookup& lookup,
                                              char escape);
// "A=b C='d e'"; for ENV and LABEL also the old form "A b with blanks".
Result<std::vector<std::pair<std::string, std::string>>> expand_pairs(std::string_view text,
                                                                      const VariableLookup& lookup,
                                                                      char escape);

// * and ? and [a-z] within one part of a path, ** over several.
bool matches_path(std::string_view pattern, std::string_view path);

class DockerIgnore {
 public:
  static DockerIgnore parse(std::string_view text);
  // Whether a path of the context is left out; the last rule that matches it, or a directory above
  // it, decides.
  bool ignores(const std::string& path) const;
  // Some rule brings something back: directories cannot be passed over as a whole.
  bool has_exceptions() const;

 private:
  struct Rule {
    std::string pattern;
    bool keep = false;
  };
  std::vector<Rule> rules_;
};

}  // namespace hekla::agent
