//===- Artifact.cpp - a compiled kernel as bytes ------------------------------------------===//
// Needs: see Artifact.h.
// Gives: serializeArtifact, parseArtifact.
// How:   Writer and reader name the fields in one order; a new field increments `format`.
//===------------------------------------------------------------------------------------===//
#include "cache/Artifact.h"
#include "cache/Bytes.h"

namespace pantile {
namespace {

constexpr uint64_t format = 12;

void write(ByteWriter &out, const std::vector<int> &numbers) {
  out.u64(numbers.size());
  for (int number : numbers)
    out.u64(static_cast<uint64_t>(number));
}

void read(ByteReader &in, std::vector<int> &numbers) {
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i)
    numbers.push_back(static_cast<int>(in.u64()));
}

void write(ByteWriter &out, const std::vector<HostPolynomial> &polynomials) {
  out.u64(polynomials.size());
  for (const HostPolynomial &polynomial : polynomials) {
    out.u64(polynomial.terms.size());
    for (const HostPolynomial::Term &term : polynomial.terms) {
      out.u64(static_cast<uint64_t>(term.coefficient));
      out.u64(term.factors.size());
      for (HostPolynomial::Factor factor : term.factors) {
        out.u64(static_cast<uint64_t>(factor.arg));
        out.u64(static_cast<uint64_t>(factor.divisor));
      }
    }
  }
}

void read(ByteReader &in, std::vector<HostPolynomial> &polynomials) {
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    HostPolynomial &polynomial = polynomials.emplace_back();
    for (size_t j = 0, terms = in.count(); j < terms && in.ok(); ++j) {
      HostPolynomial::Term &term = polynomial.terms.emplace_back();
      term.coefficient = static_cast<int64_t>(in.u64());
      for (size_t k = 0, factors = in.count(); k < factors && in.ok(); ++k) {
        const int arg = static_cast<int>(in.u64());
        term.factors.emplace_back(arg, std::max<int64_t>(static_cast<int64_t>(in.u64()), 1));
      }
    }
  }
}

void write(ByteWriter &out, const TensorMapRecipe &recipe) {
  out.u64(static_cast<uint64_t>(recipe.base));
  write(out, {recipe.offset});
  out.text(recipe.element);
  write(out, recipe.extents);
  write(out, recipe.strides);
  write(out, recipe.box);
  out.u64(static_cast<uint64_t>(recipe.swizzle));
  write(out, recipe.nonNegative);
  out.u64(recipe.multiples.size());
  for (const HostMultiple &multiple : recipe.multiples) {
    write(out, {multiple.value});
    out.u64(static_cast<uint64_t>(multiple.of));
  }
  write(out, recipe.conditions);
  out.u64(recipe.isWritten);
  out.u64(recipe.mayBeEmpty);
}

HostPolynomial readPolynomial(ByteReader &in) {
  std::vector<HostPolynomial> list;
  read(in, list);
  return list.empty() ? HostPolynomial() : list[0];
}

TensorMapRecipe readRecipe(ByteReader &in) {
  TensorMapRecipe recipe;
  recipe.base = static_cast<int>(in.u64());
  recipe.offset = readPolynomial(in);
  recipe.element = in.text();
  read(in, recipe.extents);
  read(in, recipe.strides);
  read(in, recipe.box);
  recipe.swizzle = static_cast<int>(in.u64());
  read(in, recipe.nonNegative);
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    HostPolynomial value = readPolynomial(in);
    recipe.multiples.push_back({std::move(value), static_cast<int64_t>(in.u64())});
  }
  read(in, recipe.conditions);
  recipe.isWritten = in.u64() != 0;
  recipe.mayBeEmpty = in.u64() != 0;
  return recipe;
}

void write(ByteWriter &out, const std::optional<StreamKEstimate> &estimate) {
  out.u64(estimate.has_value());
  if (!estimate)
    return;
  write(out, {estimate->dividend});
  for (int64_t number : {estimate->divisor, estimate->smCycles, estimate->l2Cycles,
                         estimate->leastGain, estimate->partialBytes})
    out.u64(static_cast<uint64_t>(number));
}

std::optional<StreamKEstimate> readEstimate(ByteReader &in) {
  if (in.u64() == 0)
    return std::nullopt;
  StreamKEstimate estimate;
  estimate.dividend = readPolynomial(in);
  for (int64_t *number : {&estimate.divisor, &estimate.smCycles, &estimate.l2Cycles,
                          &estimate.leastGain, &estimate.partialBytes})
    *number = static_cast<int64_t>(in.u64());
  for (int64_t *number : {&estimate.divisor, &estimate.leastGain}) // of a damaged file
    *number = std::clamp<int64_t>(*number, 1, int64_t(1) << 32);
  return estimate;
}

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
  for (int value : {data.sharedBytes, data.numWarps, data.programsPerCta, data.ctasPerProgram,
                    data.registers, data.spills})
    out.u64(static_cast<uint64_t>(value));
  out.u64(data.persistent);
  out.u64(static_cast<uint64_t>(data.workspacePerCta));
  write(out, data.written);
  out.u64(data.tensorMaps.size());
  for (const TensorMapRecipe &recipe : data.tensorMaps)
    write(out, recipe);
  write(out, data.streamK);
  out.u64(data.dependencies.size());
  for (const Dependency &dependency : data.dependencies) {
    out.text(dependency.question);
    out.text(dependency.answer);
  }
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
  for (int *value : {&data.sharedBytes, &data.numWarps, &data.programsPerCta, &data.ctasPerProgram,
                     &data.registers, &data.spills})
    *value = static_cast<int>(in.u64());
  data.persistent = in.u64() != 0;
  data.workspacePerCta = static_cast<int64_t>(in.u64());
  read(in, data.written);
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i)
    data.tensorMaps.push_back(readRecipe(in));
  data.streamK = readEstimate(in);
  for (size_t i = 0, n = in.count(); i < n && in.ok(); ++i) {
    std::string question = in.text();
    data.dependencies.push_back({std::move(question), in.text()});
  }
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
