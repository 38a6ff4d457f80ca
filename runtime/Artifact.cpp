//===- Artifact.cpp - a compiled kernel as bytes ------------------------------------------===//
// Needs: see Artifact.h.
// Gives: serializeArtifact, parseArtifact.
// How:   writer and reader name the fields in one order; a new field raises `format`.
//===------------------------------------------------------------------------------------===//
#include "runtime/Artifact.h"
#include "runtime/Bytes.h"

namespace pantile {
namespace {

constexpr uint64_t format = 1;

} // namespace

std::string serializeArtifact(const Kernel::Data &data) {
  ByteWriter out;
  out.u64(format);
  out.text(data.name);
  out.text(data.hash);
  out.options(data.options);
  out.u64(data.args.size());
  for (const ArgSpec &spec : data.args)
    out.argument(spec);
  for (int value : {data.sharedBytes, data.numWarps, data.registers, data.spills})
    out.u64(static_cast<uint64_t>(value));
  out.text(data.cubin);
  out.text(data.warnings);
  out.u64(data.text.size());
  for (const auto &[stage, text] : data.text) {
    out.text(stage);
    out.text(text);
  }
  return out.take();
}

std::optional<Kernel::Data> parseArtifact(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.u64() != format)
    return std::nullopt;
  Kernel::Data data;
  data.name = in.text();
  data.hash = in.text();
  data.options = in.options();
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i)
    data.args.push_back(in.argument());
  for (int *value : {&data.sharedBytes, &data.numWarps, &data.registers, &data.spills})
    *value = static_cast<int>(in.u64());
  data.cubin = in.text();
  data.warnings = in.text();
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    std::string stage = in.text();
    data.text[stage] = in.text();
  }
  if (!in.ok() || !in.atEnd())
    return std::nullopt;
  return data;
}

} // namespace pantile
