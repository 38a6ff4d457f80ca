//===- GridExpression.cpp - grids on the command line ---------------------------------------===//
// Needs: see GridExpression.h.
// Gives: evaluateGrid.
// How:   The first error is kept and ends the descent; division rounds down.
//===-----------------------------------------------------------------------------------===//
#include "GridExpression.h"
#include <algorithm>
#include <cctype>
#include <vector>

namespace pantile {
namespace {

class Evaluator {
public:
  Evaluator(std::string_view text, const std::map<std::string, int64_t> &names)
      : all(text), rest(text), names(names) {}

  Result<Grid> run() {
    std::vector<int64_t> values = list();
    skip();
    if (failure.empty() && !rest.empty())
      fail("`" + std::string(rest) + "` is left over");
    if (failure.empty() && values.size() > 3)
      fail("there are more than three extents");
    if (!failure.empty())
      return makeError(ErrorKind::Launch, "grid `" + std::string(all) + "`: " + failure);
    Grid grid = {1, 1, 1};
    std::copy(values.begin(), values.end(), grid.begin());
    return grid;
  }

private:
  void skip() { rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size())); }
  bool take(std::string_view token) {
    skip();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }
  int64_t fail(const std::string &message) {
    if (failure.empty())
      failure = message;
    rest = {};
    return 0;
  }

  std::vector<int64_t> list() {
    std::vector<int64_t> values{sum()};
    while (failure.empty() && take(","))
      values.push_back(sum());
    return values;
  }

  int64_t sum() {
    int64_t value = product();
    while (failure.empty())
      if (take("+"))
        value += product();
      else if (take("-"))
        value -= product();
      else
        break;
    return value;
  }

  int64_t divided(int64_t a, int64_t b, bool remainder) {
    if (b <= 0)
      return fail("division by " + std::to_string(b));
    const int64_t quotient = a / b - (a % b < 0);
    return remainder ? a - quotient * b : quotient;
  }

  int64_t product() {
    int64_t value = atom();
    while (failure.empty())
      if (take("//") || take("/"))
        value = divided(value, atom(), false);
      else if (take("%"))
        value = divided(value, atom(), true);
      else if (take("*"))
        value *= atom();
      else
        break;
    return value;
  }

  int64_t atom() {
    if (take("(")) {
      int64_t value = sum();
      return take(")") ? value : fail("a `)` is missing");
    }
    skip();
    size_t length = 0;
    while (length < rest.size() &&
           (std::isalnum(static_cast<unsigned char>(rest[length])) || rest[length] == '_'))
      ++length;
    std::string word(rest.substr(0, length));
    rest.remove_prefix(length);
    if (word.empty())
      return fail("an expression is missing");
    if (std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c); }))
      return word.size() < 18 ? std::stoll(word) : fail("`" + word + "` is too large");
    return take("(") ? call(word) : named(word);
  }

  int64_t named(const std::string &word) {
    auto it = names.find(word);
    return it != names.end() ? it->second : fail("`" + word + "` is no integer argument");
  }

  int64_t call(const std::string &word) {
    std::vector<int64_t> values = list();
    if (!take(")"))
      return fail("a `)` is missing");
    if (word == "cdiv" && values.size() == 2)
      return divided(values[0] + values[1] - 1, values[1], false);
    if (word == "min")
      return *std::min_element(values.begin(), values.end());
    if (word == "max")
      return *std::max_element(values.begin(), values.end());
    return fail("`" + word + "` is none of cdiv(a, b), min, max");
  }

  std::string_view all, rest;
  const std::map<std::string, int64_t> &names;
  std::string failure;
};

} // namespace

Result<Grid> evaluateGrid(std::string_view text, const std::map<std::string, int64_t> &names) {
  return Evaluator(text, names).run();
}

} // namespace pantile
