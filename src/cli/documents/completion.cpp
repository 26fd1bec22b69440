// Scripts that complete the command line in bash, zsh and fish.
#include "cli/command.h"

namespace hekla::cli {
namespace {

struct CompletionWord {
  std::string text, about;
};
// One command: "", "job", "job run".
struct CompletionCommand {
  std::string path;
  std::vector<CompletionWord> commands;  // below it
  std::vector<CompletionWord> flags;     // "--namespace", "-n"
  std::vector<std::string> valued;       // those that take a value: file names are offered for it
};

void collect(const Command& command, const std::string& path, std::vector<CompletionCommand>& all) {
  CompletionCommand here;
  here.path = path;
  for (const char* name : {"--help", "-h"}) here.flags.push_back({name, "print the help"});
  for (const Flag& flag : command.flags) {
    if (flag.hidden || flag.is_positional()) continue;
    for (const std::string& name : flag.all_names()) {
      here.flags.push_back({name, flag.help});
      if (flag.takes != Flag::Takes::nothing) here.valued.push_back(name);
    }
  }
  for (const Command& below : command.commands)
    if (!below.hidden) here.commands.push_back({below.name, below.summary});
  all.push_back(std::move(here));
  for (const Command& below : command.commands)
    if (!below.hidden) collect(below, path.empty() ? below.name : path + " " + below.name, all);
}

// Puts text in single quotes, for any of the shells.
std::string quoted(const std::string& text, bool fish) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'')
      out += fish ? "\\'" : "'\\''";
    else if (c == '\\' && fish)
      out += "\\\\";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string joined(const std::vector<CompletionWord>& words) {
  std::string out;
  for (const CompletionWord& word : words) out += (out.empty() ? "" : " ") + word.text;
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// Walks the words before the cursor down the tree of commands, then offers what stands below.
std::string bash_script(const std::string& program,
                        const std::vector<CompletionCommand>& commands) {
  std::string out = "# bash completion for " + program + "; load it with: source <(" + program +
                    " completion bash)\n"
                    "# Names that the cluster knows; fails where none are meant.\n_" +
                    program +
                    "_names() {\n"
                    "  local names\n"
                    "  names=$(\"${COMP_WORDS[0]}\" names -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
                    "2>/dev/null)\n"
                    "  [[ -n $names ]] && COMPREPLY=($(compgen -W \"$names\" -- \"$current\"))\n"
                    "}\n_" +
                    program +
                    "() {\n"
                    "  local at='' word i current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
                    "  local previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
                    "  local -A below flags valued\n";
  for (const CompletionCommand& command : commands) {
    std::string key = "[" + quoted("/" + command.path, false) + "]=";
    out += "  below" + key + quoted(joined(command.commands), false) + " flags" + key +
           quoted(joined(command.flags), false) + " valued" + key +
           quoted(joined(command.valued), false) + "\n";
  }
  return out +
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"${COMP_WORDS[i]}\"\n"
         "    [[ \" ${below[/$at]} \" == *\" $word \"* ]] && at=\"${at:+$at }$word\"\n"
         "  done\n"
         "  COMPREPLY=()\n"
         "  if [[ \" ${valued[/$at]} \" == *\" $previous \"* ]]; then\n"
         "    _" +
         program +
         "_names || COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  elif [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"${flags[/$at]}\" -- \"$current\"))\n"
         "  elif [[ -n ${below[/$at]} ]]; then\n"
         "    COMPREPLY=($(compgen -W \"${below[/$at]}\" -- \"$current\"))\n"
         "  else\n"
         "    _" +
         program +
         "_names || COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\ncomplete -o filenames -F _" +
         program + " " + program + "\n";
}

std::string zsh_words(const std::vector<CompletionWord>& words) {
  std::string out;
  for (const CompletionWord& word : words) {
    std::string about = word.text + ":" + word.about;
    out += " " + quoted(about, false);
  }
  return out;
}

std::string zsh_script(const std::string& program, const std::vector<CompletionCommand>& commands) {
  std::string out =
      "#compdef " + program + "\n# zsh completion for " + program + "; load it with: source <(" +
      program + " completion zsh)\n_" + program +
      "() {\n  local at='' word i\n  local -a offered\n  for ((i = 2; i < CURRENT; i++)); do\n"
      "    word=$words[i]\n    case \"$at/$word\" in\n";
  for (const CompletionCommand& command : commands)
    for (const CompletionWord& below : command.commands)
      out += "      " + quoted(command.path + "/" + below.text, false) + ") at=" +
             quoted(command.path.empty() ? below.text : command.path + " " + below.text, false) +
             " ;;\n";
  out += "    esac\n  done\n  case \"$at\" in\n";
  for (const CompletionCommand& command : commands)
    out += "    " + quoted(command.path, false) +
           ")\n      if [[ $words[CURRENT] == -* ]]; then\n        offered=(" +
           zsh_words(command.flags) + " )\n      else\n        offered=(" +
           zsh_words(command.commands) + " )\n      fi ;;\n";
  return out +
         "  esac\n  if (( ! $#offered )); then\n    offered=(${(f)\"$($words[1] names -- "
         "${words[2,CURRENT]} 2>/dev/null)\"})\n    (( $#offered )) && compadd -a offered && "
         "return\n  fi\n  if (( $#offered )); then _describe " +
         quoted(program, false) +
         " offered; else _files; fi\n}\n"
         "if [[ $funcstack[1] == _" +
         program + " ]]; then _" + program + "; else compdef _" + program + " " + program +
         "; fi\n";
}

std::string fish_script(const std::string& program,
                        const std::vector<CompletionCommand>& commands) {
  std::string out = "# fish completion for " + program + "; load it with: " + program +
                    " completion fish | source\nfunction __" + program +
                    "_at\n    set -l at ''\n    for word in (commandline -opc)[2..-1]\n        "
                    "switch \"$at/$word\"\n";
  for (const CompletionCommand& command : commands)
    for (const CompletionWord& below : command.commands)
      out += "            case " + quoted(command.path + "/" + below.text, true) +
             "\n                set at " +
             quoted(command.path.empty() ? below.text : command.path + " " + below.text, true) +
             "\n";
  out += "        end\n    end\n    test \"$at\" = \"$argv[1]\"\nend\n";
  out += "complete -c " + program + " -a '(" + program +
         " names -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n";
  for (const CompletionCommand& command : commands) {
    std::string condition = "complete -c " + program + " -n " +
                            quoted("__" + program + "_at " + quoted(command.path, true), true);
    for (const CompletionWord& below : command.commands)
      out += condition + " -f -a " + quoted(below.text, true) + " -d " + quoted(below.about, true) +
             "\n";
    for (const CompletionWord& flag : command.flags) {
      bool is_long = flag.text.starts_with("--");
      bool takes = false;
      for (const std::string& one : command.valued) takes |= one == flag.text;
      out += condition + (is_long ? " -l " : " -s ") + flag.text.substr(is_long ? 2 : 1) +
             (takes ? " -r" : "") + " -d " + quoted(flag.about, true) + "\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> completion_script(const std::string& shell, const Command& root) {
  std::vector<CompletionCommand> commands;
  collect(root, "", commands);
  if (shell == "bash") return bash_script(root.name, commands);
  if (shell == "zsh") return zsh_script(root.name, commands);
  if (shell == "fish") return fish_script(root.name, commands);
  return fail(Code::bad_request, "no completion for " + shell + ": there is bash, zsh and fish");
}

}  // namespace hekla::cli
