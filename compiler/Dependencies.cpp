//===- Dependencies.cpp - what a compilation depends on besides its cache key ------===//
// Needs: see Dependencies.h.
// Gives: Dependencies, fileDependency.
// How:   A question is a letter and bytes: `c`, the function's position, its arguments and their
//        names; or `f` and a path. A program without host functions is used as it is.
//===-------------------------------------------------------------------------------===//
#include "Dependencies.h"
#include "cache/Bytes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <mutex>
#include <set>

namespace pantile {
namespace {

constexpr uint8_t callQuestion = 'c', fileQuestion = 'f';
/// Not a digest and not a value: the answer cannot be computed now.
constexpr std::string_view noAnswer;

using Numbers = std::vector<size_t>;

std::optional<size_t> positionOf(const Numbers &numbers, size_t index) {
  auto found = llvm::find(numbers, index);
  return found == numbers.end() ? std::nullopt : std::optional<size_t>(found - numbers.begin());
}

std::optional<size_t> indexAt(const Numbers &numbers, size_t position) {
  return position < numbers.size() ? std::optional(numbers[position]) : std::nullopt;
}

/// Renumbers the references in values.
struct Renumbering {
  using Map = std::optional<size_t> (*)(const Numbers &, size_t);
  const ReachedParts &reached;
  Map map;

  std::optional<ConstValue> tuple(const ConstTuple &from) const {
    auto made = std::make_shared<ConstTuple>();
    made->fields = from.fields;
    if (from.classIndex && !(made->classIndex = map(reached.classes, *from.classIndex)))
      return std::nullopt;
    for (const ConstValue &element : from.elements) {
      std::optional<ConstValue> value = (*this)(element);
      if (!value)
        return std::nullopt;
      made->elements.push_back(std::move(*value));
    }
    return std::shared_ptr<const ConstTuple>(std::move(made));
  }

  std::optional<ConstValue> operator()(const ConstValue &value) const {
    if (auto *parts = std::get_if<std::shared_ptr<const ConstTuple>>(&value))
      return tuple(**parts);
    if (auto *function = std::get_if<FunctionRef>(&value)) {
      std::optional<size_t> number = map(reached.functions, function->index);
      return number ? std::optional<ConstValue>(FunctionRef{*number}) : std::nullopt;
    }
    if (auto *type = std::get_if<ClassRef>(&value)) {
      std::optional<size_t> number = map(reached.classes, type->index);
      return number ? std::optional<ConstValue>(ClassRef{*number}) : std::nullopt;
    }
    return value;
  }
};

/// A call of a host function.
struct Call {
  size_t function = 0;
  std::vector<ConstValue> args;
  std::vector<std::string> names;
};

std::string questionOf(const Call &call) {
  ByteWriter out;
  out.u8(callQuestion);
  out.u64(call.function);
  out.u64(call.args.size());
  for (const ConstValue &value : call.args)
    out.constant(value);
  out.u64(call.names.size());
  for (const std::string &name : call.names)
    out.text(name);
  return out.take();
}

std::string answerOf(const ConstValue &value) {
  ByteWriter out;
  out.constant(value);
  return out.take();
}

/// The call of a question, given without its letter; nothing for invalid bytes.
std::optional<Call> readCall(ByteReader &in) {
  Call call;
  call.function = in.u64();
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i)
    call.args.push_back(in.constant());
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i)
    call.names.push_back(in.text());
  const bool isWhole = in.ok() && in.atEnd() && call.names.size() <= call.args.size();
  return isWhole ? std::optional(std::move(call)) : std::nullopt;
}

std::string fileAnswer(std::string path) {
  if (path.empty())
    path = findLibdevice();
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? hexDigest((*file)->getBuffer()) : std::string(noAnswer);
}

} // namespace

Dependency fileDependency(const LinkedFile &file) {
  ByteWriter out;
  out.u8(fileQuestion);
  out.text(file.path);
  return {out.take(), file.digest};
}

/// What was recorded; shared with the recorded program, whose copies may outlive the compilation.
struct Dependencies::Recorder {
  std::vector<HostCall> hosts; ///< by function; null of those that are the kernel language's
  ReachedParts reached;
  mutable std::mutex guard; ///< of what follows
  std::vector<Dependency> made;
  std::set<std::string> known;
  bool isComplete = true;

  std::optional<Call> portable(Call call) const;
  std::string answerNow(const std::string &question) const;
  std::string resultNow(const Call &call) const;
  void record(const Call &call, const ConstValue &result);
};

/// The call in positions instead of indices.
std::optional<Call> Dependencies::Recorder::portable(Call call) const {
  const Renumbering toPositions{reached, positionOf};
  std::optional<size_t> position = positionOf(reached.functions, call.function);
  if (!position)
    return std::nullopt;
  call.function = *position;
  for (ConstValue &value : call.args) {
    std::optional<ConstValue> changed = toPositions(value);
    if (!changed)
      return std::nullopt;
    value = std::move(*changed);
  }
  return call;
}

void Dependencies::Recorder::record(const Call &call, const ConstValue &result) {
  std::optional<Call> question = portable(call);
  std::optional<ConstValue> answer = Renumbering{reached, positionOf}(result);
  const std::lock_guard lock(guard);
  if (!question || !answer) {
    isComplete = false;
    return;
  }
  Dependency dependency{questionOf(*question), answerOf(*answer)};
  if (known.insert(dependency.question).second)
    made.push_back(std::move(dependency));
}

std::string Dependencies::Recorder::resultNow(const Call &call) const {
  const Renumbering toIndices{reached, indexAt};
  std::optional<size_t> index = indexAt(reached.functions, call.function);
  if (!index || !hosts[*index])
    return std::string(noAnswer);
  std::vector<ConstValue> args;
  for (const ConstValue &value : call.args) {
    std::optional<ConstValue> changed = toIndices(value);
    if (!changed)
      return std::string(noAnswer);
    args.push_back(std::move(*changed));
  }
  Result<ConstValue> result = hosts[*index](args, call.names);
  std::optional<ConstValue> answer;
  if (result)
    answer = Renumbering{reached, positionOf}(*result);
  return answer ? answerOf(*answer) : std::string(noAnswer);
}

std::string Dependencies::Recorder::answerNow(const std::string &question) const {
  ByteReader in(question);
  if (in.u8() == fileQuestion)
    return fileAnswer(in.text());
  std::optional<Call> call = readCall(in);
  return call ? resultNow(*call) : std::string(noAnswer);
}

Dependencies::Dependencies(const Program &given, ReachedParts reached)
    : recorder(std::make_shared<Recorder>()), program(&given) {
  recorder->reached = std::move(reached);
  for (const FunctionSource &function : given.functions)
    recorder->hosts.push_back(function.host);
  if (llvm::any_of(recorder->hosts, [](const HostCall &host) { return host != nullptr; }))
    recordCalls();
}

void Dependencies::recordCalls() {
  copy = std::make_unique<Program>(*program);
  program = copy.get();
  for (size_t i = 0; i < copy->functions.size(); ++i)
    if (HostCall &host = copy->functions[i].host)
      host = [i, call = host, recorder = recorder](const std::vector<ConstValue> &args,
                                                   const std::vector<std::string> &names) {
        Result<ConstValue> result = call(args, names);
        if (result)
          recorder->record({i, args, names}, *result);
        return result;
      };
}

std::optional<std::string> Dependencies::elsewhere(const std::string &key,
                                                   const std::vector<Dependency> &known) const {
  for (const auto &[i, dependency] : llvm::enumerate(known)) {
    std::string now = recorder->answerNow(dependency.question);
    if (now == dependency.answer && now != noAnswer)
      continue;
    ByteWriter out;
    out.text(key);
    out.u64(i);
    out.text(dependency.question);
    out.text(now);
    return hexDigest(out.bytes());
  }
  return std::nullopt;
}

std::optional<std::vector<Dependency>> Dependencies::calls() const {
  const std::lock_guard lock(recorder->guard);
  return recorder->isComplete ? std::optional(recorder->made) : std::nullopt;
}

} // namespace pantile
