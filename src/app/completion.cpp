#include <fmt/format.h>

#include <functional>
#include <utility>

#include "manual.hpp"
#include "muffle/core/error.hpp"

namespace muffle::app {
namespace {

/// What a shell completes a value with.
enum class Completes { kNothing, kFile, kFolder, kWords, kKey };

Completes completes(const OptionText& option) {
  if (!option.values.empty()) return Completes::kWords;
  if (option.value == "FILE") return Completes::kFile;
  if (option.value == "DIR") return Completes::kFolder;
  if (option.value == "KEY=VALUE") return Completes::kKey;
  return Completes::kNothing;
}

/// Calls for each verb, muffle itself and groups among them. @param words  "ledger show"
void for_each_verb(const VerbText& verb, const std::string& words,
                   const std::function<void(const VerbText&, const std::string&)>& call) {
  call(verb, words);
  for (const VerbText& inner : verb.verbs)
    for_each_verb(inner, words.empty() ? inner.name : words + " " + inner.name, call);
}

std::string names_of(const std::vector<VerbText>& verbs) {
  std::vector<std::string> names;
  for (const VerbText& verb : verbs) names.push_back(verb.name);
  return fmt::format("{}", fmt::join(names, " "));
}

/// Between single quotes.
std::string in_quotes(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c == '\n' ? ' ' : c);
  return out;
}

std::string all_keys(const ManualText& text) {
  std::map<std::string, bool> seen;
  std::string out;
  for (const KeySection& section : text.sections) {
    for (const KeyText& key : section.keys) {
      if (!std::exchange(seen[key.name], true)) out += " " + key.name;
    }
  }
  return out.empty() ? out : out.substr(1);
}

/// Each key that is one of some words that shells can complete, once; NAME is any.
void for_each_choice(const ManualText& text,
                     const std::function<void(const std::string& pattern, const std::string& words)>& call) {
  std::map<std::string, bool> seen;
  for (const KeySection& section : text.sections) {
    for (const KeyText& key : section.keys) {
      std::vector<std::string> words;
      for (const std::string& word : key.words) {
        if (!word.empty() && word.find_first_of(" \t'|;\\") == std::string::npos) words.push_back(word);
      }
      if (words.empty() || std::exchange(seen[key.name], true)) continue;
      std::string pattern = key.name;
      if (const std::size_t name = pattern.find("NAME"); name != std::string::npos)
        pattern.replace(name, 4, "*");
      call(pattern, fmt::format("{}", fmt::join(words, " ")));
    }
  }
}

/// Of a shell's `case`.
std::string key_cases(const ManualText& text) {
  std::string out;
  for_each_choice(text, [&](const std::string& pattern, const std::string& words) {
    out += fmt::format("    {}) words='{}' ;;\n", pattern, words);
  });
  return out;
}

// map.NAME.count is completed behind the name that was typed: map.coarse.count.
constexpr const char* kBashEnd = R"(
_muffle() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev= path= verbs= options= kind= words= key= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    _muffle_verb "$path"
    [[ " $verbs " == *" ${COMP_WORDS[i]} "* ]] || break
    path+="${path:+ }${COMP_WORDS[i]}"
  done
  # bash takes key=value for three words.
  i=$COMP_CWORD
  if [[ $cur == = ]]; then
    cur='' i=$((i + 1))
  fi
  if ((i > 3)) && [[ ${COMP_WORDS[i - 1]} == = && ${COMP_WORDS[i - 3]} == --set ]]; then
    key=${COMP_WORDS[i - 2]}
  elif ((i > 2)) && [[ ${COMP_WORDS[i - 1]} == = ]]; then
    prev=${COMP_WORDS[i - 2]}
  else
    prev=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  _muffle_verb "$path"
  COMPREPLY=()
  if [[ -n $key ]]; then
    _muffle_key "$key"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
    return
  fi
  _muffle_value "$path" "$prev"
  if [[ -z $kind ]]; then
    if [[ $cur == -* ]]; then
      kind=words words=$options
    elif [[ -n $verbs ]]; then
      kind=words words=$verbs
    else
      kind=file
    fi
  fi
  case $kind in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    file | folder)
      compopt -o filenames 2>/dev/null
      if [[ $kind == file ]]; then i=-f; else i=-d; fi
      mapfile -t COMPREPLY < <(compgen "$i" -- "$cur")
      ;;
    key)
      words=$_muffle_keys
      if [[ $cur == map.*.* ]]; then
        i=${cur#map.}
        words=${words//map.NAME./map.${i%%.*}.}
      fi
      compopt -o nospace 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -S = -W "$words" -- "$cur")
      ;;
  esac
}
complete -F _muffle muffle
)";

std::string bash(const ManualText& text) {
  std::string verbs, values;
  for_each_verb(text.muffle, "", [&](const VerbText& verb, const std::string& words) {
    std::vector<std::string> options;
    for (const OptionText& option : verb.options) {
      options.insert(options.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back("'" + words + " " + name + "'");
      std::string action = "kind=nothing";
      switch (completes(option)) {
        case Completes::kFile:
          action = "kind=file";
          break;
        case Completes::kFolder:
          action = "kind=folder";
          break;
        case Completes::kKey:
          action = "kind=key";
          break;
        case Completes::kWords:
          action = fmt::format("kind=words words='{}'",
                               in_quotes(fmt::format("{}", fmt::join(option.values, " "))));
          break;
        case Completes::kNothing:
          break;
      }
      values += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), action);
    }
    verbs += fmt::format("    '{}') verbs='{}' options='{}' ;;\n", words, names_of(verb.verbs),
                         fmt::join(options, " "));
  });
  return "# Completion of muffle in bash: muffle completion bash\n# shellcheck shell=bash "
         "disable=SC2034,SC2209\n_muffle_keys='" +
         all_keys(text) + "'\n_muffle_verb() {\n  case $1 in\n" + verbs +
         "  esac\n}\n_muffle_value() {\n  case \"$1 $2\" in\n" + values +
         "  esac\n}\n_muffle_key() {\n  case $1 in\n" + key_cases(text) + "  esac\n}\n" +
         std::string(kBashEnd).substr(1);
}

/// Of an _arguments specification: brackets end a description, colons an element.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return in_quotes(out);
}

std::string zsh_action(const OptionText& option) {
  switch (completes(option)) {
    case Completes::kFile:
      return "_files";
    case Completes::kFolder:
      return "_files -/";
    case Completes::kKey:
      return "_muffle_set";
    case Completes::kWords:
      return fmt::format("({})", in_quotes(fmt::format("{}", fmt::join(option.values, " "))));
    case Completes::kNothing:
      break;
  }
  return " ";
}

std::string zsh_function(const std::string& words) {
  std::string out = "_muffle" + (words.empty() ? "" : " " + words);
  for (char& c : out) c = c == ' ' ? '_' : c;
  return out;
}

std::string zsh(const ManualText& text) {
  std::string out =
      "#compdef muffle\n# Completion of muffle in zsh: muffle completion zsh > a folder of $fpath/_muffle\n";
  out += "_muffle_set() {\n  local words= keys='" + all_keys(text) +
         "' name\n  if compset -P 1 '*='; then\n    case ${IPREFIX%=} in\n" + key_cases(text) +
         "    esac\n    compadd -- ${=words}\n  else\n    if [[ $PREFIX == map.*.* ]]; then\n      "
         "name=${PREFIX#map.}\n"
         "      keys=${keys//map.NAME./map.${name%%.*}.}\n    fi\n    compadd -S = -- ${=keys}\n  fi\n}\n";
  for_each_verb(text.muffle, "", [&](const VerbText& verb, const std::string& words) {
    const std::string function = zsh_function(words);
    out += function + (words.empty() ? "_verb" : "") + "() {\n  local line state\n  _arguments -C \\\n";
    for (const OptionText& option : verb.options) {
      const std::string rest =
          option.value.empty() ? "" : ":" + zsh_text(option.value) + ":" + zsh_action(option);
      for (const std::string& name : option.names)
        out += fmt::format("    '*{}[{}]{}' \\\n", name, zsh_text(option.help), rest);
    }
    for (const OptionText& operand : verb.operands)
      out += fmt::format("    ':{}:{}' \\\n", zsh_text(operand.value), zsh_action(operand));
    if (verb.verbs.empty()) {
      out += "    && return\n}\n";
      return;
    }
    out +=
        "    '1:verb:->verb' '*::argument:->argument' && return\n  case $state in\n    verb)\n      local -a "
        "verbs=(\n";
    for (const VerbText& inner : verb.verbs)
      out += fmt::format("        '{}:{}'\n", inner.name, zsh_text(inner.about));
    out += "      )\n      _describe verb verbs\n      ;;\n    argument)\n      case $line[1] in\n";
    for (const VerbText& inner : verb.verbs)
      out += fmt::format("        {}) {} ;;\n", inner.name,
                         zsh_function(words.empty() ? inner.name : words + " " + inner.name));
    out += "      esac\n      ;;\n  esac\n}\n";
  });
  // Sourced, or as a file of $fpath, whose text is the function's first call.
  return out +
         "_muffle() { _muffle_verb \"$@\"; }\nif [[ $funcstack[1] == _muffle ]]; then\n  _muffle "
         "\"$@\"\nelse\n  compdef _muffle muffle\nfi\n";
}

/// Between single quotes, where fish knows \' and \\.
std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

constexpr const char* kFishBegin = R"(# Completion of muffle in fish: muffle completion fish
function __muffle_at --description 'the verb so far is this one'
    set -l words (string match -v -- '-*' (commandline -opc)[2..])
    set -l count (count $argv)
    test $count -eq 0; and return 0
    test (count $words) -ge $count; and test "$words[1..$count]" = "$argv"
end
function __muffle_wants --description 'a verb is to follow this one'
    set -l words (string match -v -- '-*' (commandline -opc)[2..])
    test "$words" = "$argv"
end
function __muffle_set --description 'keys, and values of the one that was typed'
    set -l typed (commandline -ct)
    string match -q -- '--set=*' $typed; and set typed (string sub -s 7 -- $typed)
    if string match -q -- '*=*' $typed
        set -l key (string split -m 1 = -- $typed)[1]
        set -l words
        switch $key
)";

std::string fish(const ManualText& text) {
  std::string out = kFishBegin;
  for_each_choice(text, [&](const std::string& pattern, const std::string& words) {
    out += fmt::format("            case '{}'\n                set words {}\n", pattern, words);
  });
  out +=
      "        end\n        test -n \"$words\"; and printf '%s\\n' $key={$words}\n        return\n    end\n  "
      "  set -l keys " +
      all_keys(text) +
      "\n    if string match -q -- 'map.*.*' $typed\n        set -l name (string split . -- $typed)[2]\n"
      "        set keys (string replace map.NAME. map.$name. -- $keys)\n    end\n    printf '%s=\\n' "
      "$keys\nend\n"
      "complete -c muffle -f\n";
  for_each_verb(text.muffle, "", [&](const VerbText& verb, const std::string& words) {
    const std::string at = words.empty() ? "__muffle_wants" : "__muffle_at " + words;
    for (const VerbText& inner : verb.verbs)
      out += fmt::format("complete -c muffle -n '__muffle_wants {}' -a {} -d '{}'\n", words, inner.name,
                         fish_text(inner.about));
    if (!verb.operands.empty()) out += fmt::format("complete -c muffle -n '{}' -F\n", at);
    for (const OptionText& option : verb.options) {
      std::string names;
      for (const std::string& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      std::string value;
      if (!option.value.empty()) {
        switch (completes(option)) {
          case Completes::kFile:
            value = " -r -F";
            break;
          case Completes::kFolder:
            value = " -x -a '(__fish_complete_directories)'";
            break;
          case Completes::kKey:
            value = " -x -a '(__muffle_set)'";
            break;
          case Completes::kWords:
            value = fmt::format(" -x -a '{}'", fish_text(fmt::format("{}", fmt::join(option.values, " "))));
            break;
          case Completes::kNothing:
            value = " -x";
            break;
        }
      }
      out +=
          fmt::format("complete -c muffle -n '{}'{}{} -d '{}'\n", at, names, value, fish_text(option.help));
    }
  });
  return out;
}

void replace_all(std::string& text, std::string_view word, std::string_view with) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + with.size()))
    text.replace(at, word.size(), with);
}

/// The same for another program (muffle-site): functions and commands of its own, so that a shell can have
/// both.
std::string named_after(const std::string& program, std::string script) {
  if (program == "muffle") return script;
  for (const char* command : {"#compdef ", "compdef _muffle ", "complete -F _muffle ", "complete -c ",
                              "# Completion of ", "fish: ", "zsh: ", "bash: "})
    replace_all(script, std::string(command) + "muffle", command + program);
  replace_all(script, "_muffle", "_party_muffle");
  return script;
}

}  // namespace

std::string completion(const ManualText& text, const std::string& shell) {
  const std::string& program = text.muffle.name;
  if (shell == "bash") return named_after(program, bash(text));
  if (shell == "zsh") return named_after(program, zsh(text));
  if (shell == "fish") return named_after(program, fish(text));
  throw UsageError(fmt::format("'{}' is none of the shells {}.", shell, fmt::join(kShells, ", ")));
}

}  // namespace muffle::app
