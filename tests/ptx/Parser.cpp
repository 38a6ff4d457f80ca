//===- Parser.cpp - PTX to a Module -------------------------------------------------------===//
// Needs: Lexer.h.
// Gives: parseModule.
// How:   one pass; braces open a scope for registers, labels and parameters of calls, as the
//        strings of inline assembly use them. A label's branches are set when its scope closes.
//===------------------------------------------------------------------------------------------===//
#include "Lexer.h"
#include "Program.h"
#include <algorithm>
#include <cstring>

namespace pantile::ptx {
namespace {

int bytesOf(std::string_view type) {
  if (type == ".pred")
    return 1;
  const size_t digit = type.find_first_of("0123456789");
  return digit == type.npos ? 0 : std::stoi(std::string(type.substr(digit))) / 8;
}

int alignTo(int value, int alignment) { return (value + alignment - 1) / alignment * alignment; }

struct Symbol {
  Space space = Space::Generic;
  int64_t address = 0;
};

struct Scope {
  std::map<std::string, int, std::less<>> registers, labels;
  std::map<std::string, Symbol, std::less<>> symbols;
  std::vector<size_t> branches; // not resolved yet
};

const std::map<std::string_view, Special> &specialNames() {
  static const std::map<std::string_view, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaX},
      {"%ctaid.y", Special::CtaY},
      {"%ctaid.z", Special::CtaZ},
      {"%nctaid.x", Special::NctaX},
      {"%nctaid.y", Special::NctaY},
      {"%nctaid.z", Special::NctaZ},
      {"%laneid", Special::Lane},
      {"%warpid", Special::WarpId},
      {"%lanemask_lt", Special::LaneLt},
      {"%lanemask_le", Special::LaneLe},
      {"%lanemask_gt", Special::LaneGt},
      {"%lanemask_ge", Special::LaneGe},
      {"%lanemask_eq", Special::LaneEq},
      {"%smid", Special::Smid},
      {"%nsmid", Special::Nsmid},
      {"%dynamic_smem_size", Special::DynamicSharedBytes},
      {"%total_smem_size", Special::TotalSharedBytes},
      {"%clock", Special::Clock},
      {"%clock64", Special::Clock},
      {"%globaltimer", Special::Clock},
      {"%globaltimer_lo", Special::Clock},
      {"%cluster_ctarank", Special::ClusterRank},
      {"%cluster_ctaid.x", Special::ClusterRank},
      {"%cluster_ctaid.y", Special::Zero},
      {"%cluster_ctaid.z", Special::Zero},
      {"%cluster_nctarank", Special::ClusterSize},
      {"%cluster_nctaid.x", Special::ClusterSize},
      {"%clusterid.x", Special::ClusterId},
      {"%nclusterid.x", Special::ClusterCount},
      {"%is_explicit_cluster", Special::IsCluster}};
  return names;
}

class Parser {
public:
  explicit Parser(std::string_view text) : tokens(text) {}

  std::unique_ptr<Module> parse() {
    scopes.emplace_back();
    while (!tokens.atEnd())
      topLevel();
    return std::move(module);
  }

private:
  [[noreturn]] void fail(const std::string &message) {
    throw Fault("line " + std::to_string(tokens.line()) + " of the PTX: " + message);
  }

  //===- declarations ---------------------------------------------------------------------===//

  void topLevel() {
    const std::string word(tokens.take());
    if (word == ".version" || word == ".address_size")
      tokens.take();
    else if (word == ".target") {
      module->target = tokens.take();
      while (tokens.accept(","))
        tokens.take();
    } else if (word == ".file")
      tokens.skipLine();
    else if (word == ".section")
      skipBraces();
    else if (word == ".extern" || word == ".visible" || word == ".weak" || word == ".common")
      isExtern = word == ".extern";
    else if (word == ".entry")
      entry();
    else if (word == ".func")
      function();
    else if (word == ".global" || word == ".const" || word == ".shared")
      variable(word == ".shared" ? Space::Shared : Space::Global);
    else if (word != ";")
      fail("`" + word + "` at the top level");
  }

  void skipBraces() {
    while (tokens.peek() != "{")
      tokens.take();
    int depth = 0;
    do {
      const std::string_view token = tokens.take();
      depth += token == "{" ? 1 : token == "}" ? -1 : 0;
    } while (depth);
  }

  /// Only declarations of what the driver itself has.
  void function() {
    while (tokens.peek() != ";" && tokens.peek() != "{")
      tokens.take();
    if (tokens.peek() == "{")
      fail("functions that are called are not emulated");
    tokens.take();
    isExtern = false;
  }

  /// "[.align N] .b8 name[N] [= {...}];"
  void variable(Space space) {
    int alignment = 1, bytes = 0;
    while (tokens.peek()[0] == '.') {
      const std::string word(tokens.take());
      if (word == ".align")
        alignment = number();
      else if (bytesOf(word))
        bytes = bytesOf(word);
    }
    const int element = bytes;
    const std::string name(tokens.take());
    while (tokens.accept("[")) {
      bytes = tokens.peek() == "]" ? 0 : bytes * int(number());
      tokens.expect("]");
    }
    alignment = std::max(alignment, element);
    std::vector<uint8_t> data(bytes);
    if (tokens.accept("="))
      initialValue(data, element);
    tokens.expect(";");
    isExtern = false;
    define(name, space, alignment, bytes, data);
  }

  void initialValue(std::vector<uint8_t> &data, int element) {
    size_t at = 0;
    const bool isList = tokens.accept("{");
    do {
      const Word value = immediate();
      if (at + element > data.size())
        fail("more values than the variable has room for");
      std::memcpy(&data[at], &value, element);
      at += element;
    } while (isList && tokens.accept(","));
    if (isList)
      tokens.expect("}");
  }

  void define(const std::string &name, Space space, int alignment, int bytes,
              const std::vector<uint8_t> &data) {
    Symbol symbol{space, 0};
    if (space == Space::Shared) {
      sharedBytes = alignTo(sharedBytes, alignment);
      symbol.address = sharedBytes;
      sharedBytes += bytes;
    } else if (space == Space::Local) {
      kernel->localBytes = alignTo(kernel->localBytes, alignment);
      symbol.address = kernel->localBytes;
      kernel->localBytes += bytes;
    } else {
      module->variables[name] = module->globals.size();
      module->globals.push_back(std::make_unique<std::vector<uint8_t>>(data));
      symbol.address = reinterpret_cast<int64_t>(module->globals.back()->data());
    }
    scopes.back().symbols[name] = symbol;
  }

  void entry() {
    isExtern = false;
    module->kernels.push_back(std::make_unique<Kernel>());
    kernel = module->kernels.back().get();
    kernel->name = tokens.take();
    scopes.emplace_back();
    if (tokens.accept("(")) {
      while (!tokens.accept(")")) {
        parameter();
        tokens.accept(",");
      }
    }
    while (tokens.peek() != "{") {
      const std::string word(tokens.take());
      if (word == ".reqntid" || word == ".maxntid")
        (word == ".reqntid" ? kernel->requiredThreads : kernel->mostThreads) =
            number() * (tokens.accept(",") ? number() : 1) * (tokens.accept(",") ? number() : 1);
      else if (word == ".maxnreg")
        kernel->mostRegisters = number();
      else if (word == ".reqnctapercluster")
        clusterShape();
    }
    tokens.take();
    statements();
    closeScope();
    kernel->staticSharedBytes = sharedBytes;
    for (Instruction &instruction : kernel->code)
      decode(instruction);
  }

  void clusterShape() {
    kernel->clusterCtas = number();
    while (tokens.accept(","))
      if (number() != 1)
        fail("clusters along other axes than the first are not emulated");
  }

  void parameter() {
    int alignment = 1, bytes = 0;
    bool ofPointee = false;
    while (tokens.peek()[0] == '.') {
      const std::string word(tokens.take());
      if (word == ".align") {
        const int given = number();
        alignment = ofPointee ? alignment : given;
      } else if (word == ".ptr")
        ofPointee = true;
      else if (bytesOf(word))
        bytes = bytesOf(word);
    }
    const std::string name(tokens.take());
    alignment = std::max(alignment, bytes);
    if (tokens.accept("[")) {
      bytes *= int(number());
      tokens.expect("]");
    }
    kernel->paramBytes = alignTo(kernel->paramBytes, alignment);
    scopes.back().symbols[name] = {Space::Param, kernel->paramBytes};
    kernel->params.push_back({kernel->paramBytes, bytes, name});
    kernel->paramBytes += bytes;
  }

  //===- statements -----------------------------------------------------------------------===//

  void statements() {
    int depth = 0;
    while (true) {
      const std::string_view token = tokens.peek();
      if (token == "{") {
        tokens.take();
        scopes.emplace_back();
        ++depth;
      } else if (token == "}") {
        tokens.take();
        if (depth-- == 0)
          return;
        closeScope();
      } else if (token == ";")
        tokens.take();
      else if (token[0] == '.')
        directive();
      else if (tokens.peek(1) == ":") {
        scopes.back().labels[std::string(tokens.take())] = kernel->code.size();
        tokens.take();
      } else
        instruction();
    }
  }

  void directive() {
    const std::string word(tokens.take());
    if (word == ".loc" || word == ".pragma")
      tokens.skipLine();
    else if (word == ".reg")
      registers();
    else if (word == ".shared")
      variable(Space::Shared);
    else if (word == ".local" || word == ".param")
      variable(Space::Local);
    else if (word == ".global" || word == ".const")
      variable(Space::Global);
    else
      fail("directive `" + word + "`");
  }

  void registers() {
    while (tokens.peek()[0] == '.')
      tokens.take();
    do {
      const std::string name(tokens.take());
      if (!tokens.accept("<")) {
        scopes.back().registers[name] = kernel->registers++;
        continue;
      }
      const int count = number();
      tokens.expect(">");
      for (int i = 0; i < count; ++i)
        scopes.back().registers[name + std::to_string(i)] = kernel->registers++;
    } while (tokens.accept(","));
    tokens.expect(";");
  }

  void closeScope() {
    Scope scope = std::move(scopes.back());
    scopes.pop_back();
    for (size_t at : scope.branches) {
      Instruction &branch = kernel->code[at];
      if (auto found = scope.labels.find(branch.operands[0].name); found != scope.labels.end())
        branch.target = found->second;
      else if (scopes.size() > 1)
        scopes.back().branches.push_back(at);
      else
        fail("no label `" + branch.operands[0].name + "`");
    }
    if (scopes.size() == 1)
      kernel->code.emplace_back().op = Opcode("ret"); // for a label at the end
  }

  void instruction() {
    Instruction result;
    result.line = tokens.line();
    if (tokens.accept("@")) {
      result.guardInverted = tokens.accept("!");
      result.guard = registerOf(std::string(tokens.take()));
    }
    result.op = Opcode(tokens.take());
    const bool isBranch = result.op.base == "bra", isCall = result.op.base == "call";
    while (tokens.peek() != ";") {
      if (isBranch || (isCall && tokens.peek() != "(" && tokens.peek() != ",")) {
        Operand label;
        label.kind = Operand::Name;
        label.name = tokens.take();
        result.operands.push_back(label);
      } else if (!tokens.accept(","))
        result.operands.push_back(operand());
    }
    tokens.take();
    if (isBranch)
      scopes.back().branches.push_back(kernel->code.size());
    kernel->code.push_back(std::move(result));
  }

  //===- operands -------------------------------------------------------------------------===//

  Operand operand() {
    Operand result;
    if (tokens.accept("{") || tokens.peek() == "(") {
      const bool isCallList = tokens.accept("(");
      result.kind = Operand::Vector;
      while (!tokens.accept(isCallList ? ")" : "}")) {
        result.parts.push_back(operand());
        tokens.accept(",");
      }
      return result;
    }
    if (tokens.accept("["))
      return address();
    if (tokens.accept("_"))
      result.kind = Operand::Discard;
    else {
      result.inverted = tokens.accept("!");
      value(result);
    }
    if (tokens.accept("|"))
      result.parts.push_back(operand());
    return result;
  }

  /// A register, a number or a symbol.
  void value(Operand &result) {
    const std::string_view token = tokens.peek();
    if (token == "-" || isdigit(token[0])) {
      result.reg = constant(immediate());
      return;
    }
    const std::string name(tokens.take());
    if (const Symbol *symbol = find(name)) {
      result.space = symbol->space;
      result.offset = symbol->address;
      result.reg = constant(symbol->address);
      result.name = name;
      return;
    }
    result.reg = registerOf(name);
    result.name = name;
  }

  Operand address() {
    Operand result;
    value(result);
    result.kind = Operand::Address;
    if (result.space != Space::Generic)
      result.reg = constant(0);
    else if (result.name.empty()) // a number: it is in the register
      result.offset = 0;
    if (tokens.accept("+") || tokens.peek() == "-")
      result.offset += int64_t(immediate());
    while (tokens.accept(","))
      result.parts.push_back(operand());
    tokens.expect("]");
    return result;
  }

  const Symbol *find(const std::string &name) const {
    for (size_t i = scopes.size(); i-- > 0;)
      if (auto found = scopes[i].symbols.find(name); found != scopes[i].symbols.end())
        return &found->second;
    return nullptr;
  }

  int registerOf(const std::string &name) {
    for (size_t i = scopes.size(); i-- > 0;)
      if (auto found = scopes[i].registers.find(name); found != scopes[i].registers.end())
        return found->second;
    auto special = specialNames().find(name);
    if (special == specialNames().end() && name != "WARP_SZ")
      fail("no register `" + name + "`");
    if (name == "WARP_SZ")
      return constant(warpSize);
    const int reg = kernel->registers++;
    scopes[1].registers[name] = reg;
    kernel->specials.push_back({reg, special->second});
    return reg;
  }

  int constant(Word value) {
    auto [entry, isNew] = constants.try_emplace({kernel, value}, kernel->registers);
    if (isNew)
      kernel->constants.push_back({kernel->registers++, value});
    return entry->second;
  }

  int64_t number() { return int64_t(immediate()); }

  /// 1, -1, 0x1, 0f3F800000, 0d3FF0000000000000; true as 1.
  Word immediate() {
    const bool negative = tokens.accept("-");
    std::string text(tokens.take());
    if (text.ends_with("U"))
      text.pop_back();
    try {
      if (text.starts_with("0f") || text.starts_with("0d"))
        return std::stoull(text.substr(2), nullptr, 16);
      const Word value = std::stoull(text, nullptr, 0);
      return negative ? -value : value;
    } catch (const std::logic_error &) {
      fail("`" + text + "` instead of a number");
    }
  }

  Tokens tokens;
  std::unique_ptr<Module> module = std::make_unique<Module>();
  Kernel *kernel = nullptr;
  std::vector<Scope> scopes;
  std::map<std::pair<Kernel *, Word>, int> constants;
  int sharedBytes = reservedSharedBytes;
  bool isExtern = false;
};

} // namespace

Opcode::Opcode(std::string_view text) : text(text) {
  size_t at = text.find('.');
  base = text.substr(0, at);
  while (at != text.npos) {
    const size_t next = text.find('.', at + 1);
    parts.emplace_back(text.substr(at + 1, next == text.npos ? next : next - at - 1));
    at = next;
  }
}

bool Opcode::has(std::string_view part) const {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

const Kernel *Module::find(std::string_view name) const {
  for (const auto &kernel : kernels)
    if (kernel->name == name)
      return kernel.get();
  return nullptr;
}

std::unique_ptr<Module> parseModule(std::string_view text) { return Parser(text).parse(); }

} // namespace pantile::ptx
