//===- Launch.cpp - errors and warnings of a running kernel -------------------------------===//
// Needs: Launch.h, support/Diagnostics.h for the rendering.
// Gives: fail, report, warn, divisionByZero, and the process's collector of warnings.
//===------------------------------------------------------------------------------------===//
#include "interp/Launch.h"
#include "interp/Warnings.h"
#include "support/Diagnostics.h"
#include <fmt/format.h>
#include <map>
#include <utility>

namespace pantile::interp {
namespace {

/// The diagnostic at `place`, with a note for each call that led there.
std::string render(const Place &place, Severity severity, const std::string &message) {
  SourceManager sources;
  for (size_t i = 0; i < place.ranges.size(); ++i)
    if (!place.lines[i].empty())
      sources.addBuffer(place.ranges[i].file, place.lines[i], place.ranges[i].line);
  if (place.ranges.empty())
    return renderDiagnostic(sources, severity, {}, message);
  std::string text = renderDiagnostic(sources, severity, place.ranges[0], message);
  for (size_t i = 1; i < place.ranges.size(); ++i)
    text += renderDiagnostic(sources, Severity::Note, place.ranges[i], "called from here");
  return text;
}

std::string withProgram(const Frame &frame, const std::string &message) {
  return fmt::format("{}, in program ({}, {}, {})", message, frame.pid[0], frame.pid[1],
                     frame.pid[2]);
}

struct Collector {
  std::mutex mutex;
  std::map<std::string, std::string> byKey;
  std::string text;
};
Collector &collector() {
  static Collector *instance = new Collector;
  return *instance;
}

} // namespace

void Launch::setError(Error error) {
  std::lock_guard lock(mutex);
  if (!first)
    first = std::move(error);
  stopped.store(true);
}

std::optional<Error> Launch::takeError() {
  std::lock_guard lock(mutex);
  return std::exchange(first, std::nullopt);
}

bool Launch::firstWarning(const Place &place) {
  return !warned[&place - code.places.data()].exchange(true);
}

void report(Frame &frame, const Instr &instr, ErrorKind kind, const std::string &message) {
  const Place &place = frame.code->placeOf(instr);
  std::string full = withProgram(frame, message);
  Error error{kind, full, render(place, Severity::Error, full), {}};
  if (!place.ranges.empty())
    error.range = place.ranges[0];
  frame.stop = true;
  if (frame.launch)
    frame.launch->setError(std::move(error));
}

void warn(Frame &frame, const Instr &instr, const std::string &message) {
  const Place &place = frame.code->placeOf(instr);
  if (!frame.launch || !frame.launch->firstWarning(place))
    return;
  std::string key = place.ranges.empty()
                        ? frame.code->name
                        : fmt::format("{}:{}", place.ranges[0].file, place.ranges[0].line);
  addRunWarning(key, render(place, Severity::Warning, withProgram(frame, message)));
}

void fail(Frame &frame, const Instr &instr, const char *message) {
  report(frame, instr, ErrorKind::Launch, message);
}

void divisionByZero(Frame &frame, const Instr &instr) {
  if (!frame.launch)
    return;
  // A tile may hold zeros in lanes that no store will use; a scalar has no such excuse.
  if (instr.count == 1 || frame.launch->strict)
    return report(frame, instr, ErrorKind::Launch, "integer division by zero");
  warn(frame, instr, "integer division by zero in some elements of a tile");
}

} // namespace pantile::interp

void pantile::addRunWarning(const std::string &key, std::string rendered) {
  auto &all = interp::collector();
  std::lock_guard lock(all.mutex);
  auto [entry, isNew] = all.byKey.try_emplace(key, std::move(rendered));
  if (isNew)
    all.text += entry->second;
}

std::string pantile::takeRunWarnings() {
  auto &all = interp::collector();
  std::lock_guard lock(all.mutex);
  all.byKey.clear();
  return std::exchange(all.text, {});
}
