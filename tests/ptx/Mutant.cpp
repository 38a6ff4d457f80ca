//===- Mutant.cpp - PTX with one deliberate mistake, and a record of launches --------===//
// Needs: PTX text. An instruction is the text from its guard to its semicolon.
// Gives: the text with instructions left out or rewritten; line numbers stay the same.
// How:   PANTILE_EMULATION_MUTANT=/PATTERN/REPLACEMENT/N, any character in place of the slash.
//        PATTERN is an ECMAScript regular expression that is searched for in each instruction, its
//        guard included, with single spaces; the first match becomes REPLACEMENT, with $1 for a
//        group. Then <4+16>, <4-1> and <4^16> become numbers. An empty result, or a guard alone, is
//        left out. N counts the matches of a kernel from 0; without it all are replaced.
//        PANTILE_EMULATION_WITHOUT=bar.sync#2 leaves out the third instruction that starts so.
//        PANTILE_EMULATION_RECORD=FOLDER keeps each text as FOLDER/HASH.ptx, after the mistake, and
//        adds a line with the hash to FOLDER/launches.PID for every launch.
//===------------------------------------------------------------------------------------------===//
#include "Mutant.h"
#include "Program.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <unistd.h>

namespace pantile::ptx {
namespace {

struct Mutation {
  std::regex pattern;
  std::string replacement;
  int which = -1; ///< of the matches of a kernel; -1: all
};

std::string valueOf(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

std::string escaped(std::string_view name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) ? std::string{c} : std::string{'\\', c};
  return result;
}

/// `bar.sync#2`
Mutation leavingOut(const std::string &text) {
  const size_t hash = text.find('#');
  return {std::regex("^(@\\S+\\s+)?" + escaped(text.substr(0, hash)) + "[^]*"), "",
          hash == text.npos ? -1 : std::atoi(text.c_str() + hash + 1)};
}

/// `/pattern/replacement/2`
Mutation rewriting(const std::string &text) {
  const size_t first = text.find(text[0], 1);
  const size_t second = first == text.npos ? first : text.find(text[0], first + 1);
  if (second == text.npos)
    throw Fault("PANTILE_EMULATION_MUTANT is `" + text + "` instead of `/pattern/replacement/`");
  const std::string which = text.substr(second + 1);
  return {std::regex(text.substr(1, first - 1)), text.substr(first + 1, second - first - 1),
          which.empty() ? -1 : std::stoi(which)};
}

std::vector<Mutation> wantedMutations() try {
  std::vector<Mutation> wanted;
  if (const std::string text = valueOf("PANTILE_EMULATION_WITHOUT"); !text.empty())
    wanted.push_back(leavingOut(text));
  if (const std::string text = valueOf("PANTILE_EMULATION_MUTANT"); !text.empty())
    wanted.push_back(rewriting(text));
  return wanted;
} catch (const std::logic_error &) {
  throw Fault("PANTILE_EMULATION_MUTANT ends with something that is no number");
} catch (const std::regex_error &error) {
  throw Fault(std::string("PANTILE_EMULATION_MUTANT is no regular expression: ") + error.what());
}

/// `<4+16>` becomes `20`.
std::string computed(std::string text) {
  static const std::regex sum("<(-?\\w+)([-+^])(\\w+)>");
  for (std::smatch match; std::regex_search(text, match, sum);) {
    const long left = std::stol(match[1], nullptr, 0), right = std::stol(match[3], nullptr, 0);
    const char sign = *match[2].first;
    const long result = sign == '+' ? left + right : sign == '-' ? left - right : left ^ right;
    text = match.prefix().str() + std::to_string(result) + match.suffix().str();
  }
  return text;
}

class Mutator {
public:
  explicit Mutator(Mutation mutation) : mutation(std::move(mutation)) {}

  /// Goes through the text once: directives, labels and comments stay as they are.
  std::string run(std::string_view text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::max(endOf(text, at), at + 1);
      const std::string piece(text.substr(at, end - at));
      const bool isInstruction = piece.size() > 1 && piece.back() != ':' && isStart(piece[0]);
      result += isInstruction ? mutate(piece) : piece;
      if (piece.find(".entry") != piece.npos)
        count = 0;
      at = end;
    }
    return result;
  }

private:
  static bool isStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '@'; }

  /// Where what begins at `at` ends: a line, a label with its colon, a declaration, or an
  /// instruction without its semicolon.
  static size_t endOf(std::string_view text, size_t at) {
    const char c = text[at];
    if (c == '/' || (c == '.' && text.substr(at, 4) != ".reg"))
      return std::min(text.find('\n', at), text.size());
    if (!isStart(c) && c != '.' && c != '$')
      return at + 1;
    const size_t label = text.find_first_of(":;{ \t\n", at);
    if (label != text.npos && text[label] == ':' && text.substr(label, 2) != "::")
      return label + 1;
    return std::min(text.find(';', at), text.size());
  }

  /// In one line, with single spaces: so a pattern need not care.
  static std::string spaced(std::string_view text) {
    std::string result;
    for (char c : text)
      if (!std::isspace(static_cast<unsigned char>(c)))
        result += c;
      else if (!result.ends_with(' '))
        result += ' ';
    return result;
  }

  std::string mutate(const std::string &original) {
    static const std::regex guardAlone("\\s*(@\\S+\\s*)?");
    const std::string instruction = spaced(original);
    if (!std::regex_search(instruction, mutation.pattern))
      return original;
    if (count++ != mutation.which && mutation.which >= 0)
      return original;
    const std::string result =
        computed(std::regex_replace(instruction, mutation.pattern, mutation.replacement,
                                    std::regex_constants::format_first_only));
    return std::regex_match(result, guardAlone) ? "" : result;
  }

  Mutation mutation;
  int count = 0; ///< of matches in this kernel
};

} // namespace

std::string mutantOf(std::string_view text) {
  std::string result(text);
  for (Mutation &mutation : wantedMutations())
    result = Mutator(std::move(mutation)).run(result);
  return result;
}

std::string recordText(std::string_view text) {
  const std::string folder = valueOf("PANTILE_EMULATION_RECORD");
  if (folder.empty())
    return "";
  const std::string name = std::to_string(std::hash<std::string_view>()(text));
  const std::filesystem::path path = std::filesystem::path(folder) / (name + ".ptx");
  if (!std::filesystem::exists(path)) {
    const std::filesystem::path unfinished = path.string() + std::to_string(getpid());
    std::ofstream(unfinished) << text;
    std::filesystem::rename(unfinished, path);
  }
  return name;
}

void recordLaunch(const std::string &nameOfText) {
  if (!nameOfText.empty())
    std::ofstream(valueOf("PANTILE_EMULATION_RECORD") + "/launches." + std::to_string(getpid()),
                  std::ios::app)
        << nameOfText << '\n';
}

} // namespace pantile::ptx
