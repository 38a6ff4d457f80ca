//===- EmitBlockPointer.cpp - block pointers ------------------------------------------------===//
// Needs: a base pointer, the array's sizes and strides, offsets, and the shape of the block.
// Gives: make_block_ptr, advance, and load and store through a block pointer.
// How:   A block pointer is a structured value; only its offsets ever change, so loops carry only
//        these once invariants are hoisted. A load or store accesses the block's window, masked
//        along the dimensions of `boundary_check`. `order` is ignored: the strides determine the
//        memory order.
//===------------------------------------------------------------------------------------===//
#include "frontend/BlockPointer.h"
#include "frontend/Window.h"
#include <limits>
#include <llvm/ADT/STLExtras.h>

using namespace pantile;

namespace {
/// The elements of the struct that is a block pointer.
struct BlockPointer {
  enum Part { Base, Sizes, Strides, Offsets, Block, PartCount };
};

std::optional<Runtime> needBase(Emitter &e, const BoundCall &call) {
  auto *base = call["base"].dynAs<Runtime>();
  if (base && base->type.element.isPointer() && !base->type.isTile())
    return *base;
  if (!call["base"].failed())
    e.error(call.at("base"),
            "`make_block_ptr` needs a scalar pointer, got " + kindText(call["base"]));
  return std::nullopt;
}

/// The shape of the block, of the rank of the other arguments; `order` is a permutation of it.
std::optional<Shape> needBlock(Emitter &e, const BoundCall &call, llvm::ArrayRef<size_t> ranks) {
  auto block = e.needShape(call["block_shape"], call.at("block_shape"), "`block_shape`");
  auto order = e.needInts(call["order"], call.at("order"), "`order`");
  if (!block || !order)
    return std::nullopt;
  if (!llvm::all_of(ranks, [&](size_t rank) { return rank == block->size(); })) {
    e.error(call.span, "`shape`, `strides`, `offsets` and `block_shape` differ in length");
    return std::nullopt;
  }
  llvm::SmallVector<int64_t, 4> sorted(*order);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, int64_t(block->size())))) {
    e.error(call.at("order"), "`order` must name each dimension once");
    return std::nullopt;
  }
  return block;
}

/// The dimensions of `boundary_check`.
std::optional<llvm::SmallVector<int64_t, 4>> checkedDimensions(Emitter &e, const BoundCall &call,
                                                               size_t rank) {
  const Value &value = call["boundary_check"];
  SourceSpan at = call.at("boundary_check");
  if (value.isNone())
    return llvm::SmallVector<int64_t, 4>();
  auto dims = e.needInts(value, at, "`boundary_check`");
  if (!dims)
    return std::nullopt;
  llvm::sort(*dims);
  for (size_t i = 0; i < dims->size(); ++i) {
    int64_t dim = (*dims)[i];
    if (dim < 0 || dim >= int64_t(rank)) {
      e.error(at, "`boundary_check` names dimension " + std::to_string(dim) +
                      " of a block of rank " + std::to_string(rank));
      return std::nullopt;
    }
    if (i > 0 && dim == (*dims)[i - 1]) {
      e.error(at, "`boundary_check` names dimension " + std::to_string(dim) + " twice");
      return std::nullopt;
    }
  }
  return dims;
}

Window windowOf(Emitter &e, const Value &pointer) {
  const auto &parts = pointer.elements();
  Window window;
  window.base = parts[BlockPointer::Base].as<Runtime>();
  window.sizes = scalarsOf(parts[BlockPointer::Sizes]);
  window.strides = scalarsOf(parts[BlockPointer::Strides]);
  for (auto [offset, count] :
       llvm::zip(scalarsOf(parts[BlockPointer::Offsets]), shapeOf(parts[BlockPointer::Block])))
    addWindowDimension(e, window, offset, count);
  return window;
}

/// `call` with the pointers and the mask of the block in the place of the block pointer.
std::optional<BoundCall> throughWindow(Emitter &e, const BoundCall &call) {
  const Value &pointer = call["pointer"];
  for (const char *name : {"mask", "other"})
    if (llvm::any_of(call.row->params, [&](auto &p) { return p.name == name; }) &&
        !call[name].isNone()) {
      e.error(call.at(name), std::string("`") + name +
                                 "` cannot be given for a block pointer; `boundary_check` masks "
                                 "what lies outside of the array");
      return std::nullopt;
    }
  auto checked =
      checkedDimensions(e, call, pointer.elements()[BlockPointer::Block].elements().size());
  if (!checked)
    return std::nullopt;
  Window window = windowOf(e, pointer);
  BoundCall plain = call;
  plain.values[call.index("pointer")] = windowPointers(e, window);
  plain.values[call.index("mask")] = windowMask(e, window, *checked);
  plain.values[call.index("boundary_check")] = None();
  return plain;
}
} // namespace

Value pantile::emitMakeBlockPtr(Emitter &e, const BoundCall &call) {
  auto base = needBase(e, call);
  auto sizes = needScalars(e, call["shape"], Scalar::I64, call.at("shape"), "`shape`");
  auto strides = needScalars(e, call["strides"], Scalar::I64, call.at("strides"), "`strides`");
  auto offsets = needScalars(e, call["offsets"], Scalar::I32, call.at("offsets"), "`offsets`");
  if (!base || !sizes || !strides || !offsets)
    return Failed();
  auto block = needBlock(e, call, {sizes->size(), strides->size(), offsets->size()});
  if (!block)
    return Failed();
  std::vector<Value> parts(BlockPointer::PartCount);
  parts[BlockPointer::Base] = *base;
  parts[BlockPointer::Sizes] = Value::tuple(std::move(*sizes));
  parts[BlockPointer::Strides] = Value::tuple(std::move(*strides));
  parts[BlockPointer::Offsets] = Value::tuple(std::move(*offsets));
  parts[BlockPointer::Block] = tupleOf(*block);
  return Value::structure({std::move(parts), {}, StructKind::BlockPointer, nullptr});
}

Value pantile::emitAdvance(Emitter &e, const BoundCall &call) {
  const Value &pointer = call["base"];
  if (!pointer.isStruct(StructKind::BlockPointer))
    return pointer.failed() ? pointer
                            : e.error(call.at("base"),
                                      "`advance` needs a block pointer, got " + kindText(pointer));
  auto steps = needScalars(e, call["offsets"], Scalar::I32, call.at("offsets"), "`offsets`");
  if (!steps)
    return Failed();
  std::vector<Value> parts = pointer.elements();
  std::vector<Value> offsets = parts[BlockPointer::Offsets].elements();
  if (steps->size() != offsets.size())
    return e.error(call.at("offsets"),
                   "`advance` takes an offset a dimension: " + std::to_string(offsets.size()) +
                       ", got " + std::to_string(steps->size()));
  for (auto [offset, step] : llvm::zip(offsets, *steps)) {
    const auto &old = offset.as<Runtime>();
    offset = Runtime{e.b.createOrFold<mlir::arith::AddIOp>(e.loc(), old.ir, step.as<Runtime>().ir),
                     old.type};
  }
  parts[BlockPointer::Offsets] = Value::tuple(std::move(offsets));
  return pointer.withElements(std::move(parts));
}

Type pantile::pointedType(const Value &blockPointer) {
  const auto &parts = blockPointer.elements();
  return {parts[BlockPointer::Base].as<Runtime>().type.element.pointee(),
          shapeOf(parts[BlockPointer::Block])};
}

std::optional<BoundCall> pantile::loadThroughPointers(Emitter &e, const BoundCall &call) {
  auto padding =
      e.stringOrNone(call["padding_option"], call.at("padding_option"), "`padding_option`");
  if (!padding)
    return std::nullopt;
  auto refuse = [&](const std::string &reason) {
    e.error(call.at("padding_option"), "`padding_option` " + reason);
    return std::nullopt;
  };
  if (*padding != "" && *padding != "zero" && *padding != "nan")
    return refuse("is \"zero\" or \"nan\", got \"" + *padding + "\"");
  const DType element = pointedType(call["pointer"]).element;
  if (*padding == "nan" && !element.isFloat())
    return refuse("\"nan\" needs floats, got `" + element.name() + "`");
  std::optional<BoundCall> plain = throughWindow(e, call);
  if (!plain)
    return std::nullopt;
  plain->values[call.index("padding_option")] = std::string();
  if (*padding == "nan" && !(*plain)["mask"].isNone())
    plain->values[call.index("other")] = std::numeric_limits<double>::quiet_NaN();
  return plain;
}

std::optional<BoundCall> pantile::storeThroughPointers(Emitter &e, const BoundCall &call) {
  return throughWindow(e, call);
}
