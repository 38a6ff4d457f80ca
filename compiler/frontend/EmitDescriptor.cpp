//===- EmitDescriptor.cpp - tensor descriptors ----------------------------------------------===//
// Needs: a base pointer, sizes and strides, made into a descriptor by the kernel or the host.
// Gives: make_tensor_descriptor, and load, store, gather, scatter and atomics through descriptors.
// How:   Every access is one of a window, masked along all dimensions: elements outside the array
//        load as 0 or NaN and are not stored. That the last stride is 1 and rows have at least 16
//        bytes is checked here. That base and strides are multiples of 16 bytes is checked at the
//        launch for a host's descriptor, and not assumed for one that a kernel makes.
//===------------------------------------------------------------------------------------===//
#include "frontend/Descriptor.h"
#include "frontend/Window.h"
#include <limits>

using namespace pantile;
using llvm::StringRef;

namespace {
enum Part { Base, Sizes, Strides, Block, PadsWithNan, PartCount };
constexpr int64_t minRowBytes = 16;

bool isDescriptor(const Value &value) { return value.isStruct(StructKind::Descriptor); }

const Value *needDescriptor(Emitter &e, const BoundCall &call, StringRef name) {
  const Value &value = call[name];
  if (isDescriptor(value))
    return &value;
  if (!value.failed())
    e.error(call.at(name),
            "`" + call.row->name + "` needs a tensor descriptor, got " + kindText(value));
  return nullptr;
}

DType elementOf(const Value &descriptor) {
  return descriptor.elements()[Base].as<Runtime>().type.element.pointee();
}

/// The smallest signed type, of 32 bits or 64, that has all numbers of `dtype`, or all that may be
/// an index.
DType signedTypeOf(DType dtype) {
  const bool fits = dtype.bits() < 32 || (dtype.bits() == 32 && dtype.isSigned());
  return fits ? Scalar::I32 : Scalar::I64;
}

/// The array without a position.
Window arrayOf(const Value &descriptor) {
  const auto &parts = descriptor.elements();
  Window window;
  window.base = parts[Base].as<Runtime>();
  window.sizes = scalarsOf(parts[Sizes]);
  window.strides = scalarsOf(parts[Strides]);
  return window;
}

std::optional<Window> windowAt(Emitter &e, const Value &descriptor, const Value &offsets,
                               SourceSpan span) {
  auto scalars = needScalars(e, offsets, Scalar::I32, span, "offsets");
  if (!scalars)
    return std::nullopt;
  Shape block = shapeOf(descriptor.elements()[Block]);
  if (scalars->size() != block.size()) {
    e.error(span, "a descriptor of rank " + std::to_string(block.size()) + " takes " +
                      std::to_string(block.size()) + " offsets, got " +
                      std::to_string(scalars->size()));
    return std::nullopt;
  }
  Window window = arrayOf(descriptor);
  for (auto [offset, count] : llvm::zip(*scalars, block))
    addWindowDimension(e, window, offset.as<Runtime>(), count);
  return window;
}

/// The rows of `rows` and one tile of columns from `column` on.
std::optional<Window> windowOfRows(Emitter &e, const Value &descriptor, const Value &rows,
                                   const Value &column, const BoundCall &call) {
  Shape block = shapeOf(descriptor.elements()[Block]);
  if (block.size() != 2 || block[0] != 1) {
    e.error(call.span, "`" + call.row->name + "` needs a descriptor with a block of one row, got " +
                           shapeText(block));
    return std::nullopt;
  }
  auto *tile = rows.dynAs<Runtime>();
  if (!tile || tile->type.rank() != 1 || !tile->type.element.isInt()) {
    e.error(call.at("x_offsets"),
            "`x_offsets` must be a tile of integers of rank 1, got " + kindText(rows));
    return std::nullopt;
  }
  auto offset = needScalars(e, column, Scalar::I32, call.at("y_offset"), "`y_offset`");
  if (!offset)
    return std::nullopt;
  Window window = arrayOf(descriptor);
  window.indices.push_back(*e.cast(*tile, signedTypeOf(tile->type.element), call.span));
  window.isNeverNegative.push_back(false);
  addWindowDimension(e, window, offset->front().as<Runtime>(), block[1]);
  return window;
}

Value maskOfAll(Emitter &e, const Window &window) {
  llvm::SmallVector<int64_t, 5> dims;
  for (size_t dim = 0; dim < window.indices.size(); ++dim)
    dims.push_back(int64_t(dim));
  return windowMask(e, window, dims);
}

Value loadWindow(Emitter &e, const Value &descriptor, const Window &window, SourceSpan span) {
  llvm::SmallVector<CallArg, 4> args{{windowPointers(e, window), span, {}, {}},
                                     {maskOfAll(e, window), span, {}, {}}};
  if (descriptor.elements()[PadsWithNan].as<bool>())
    args.push_back({std::numeric_limits<double>::quiet_NaN(), span, {}, {}});
  return e.callBuiltin(*findBuiltin("tl", "load"), args, span);
}

/// `value` as a tile of the descriptor's elements in the shape of `window`.
std::optional<Runtime> needBlockValue(Emitter &e, const Value &descriptor, const Window &window,
                                      const BoundCall &call) {
  Shape shape;
  for (const Runtime &index : window.indices)
    shape.push_back(index.type.shape[0]);
  auto value = e.needTile(call["value"], call.at("value"), "the value");
  if (!value)
    return std::nullopt;
  if (value->type.shape != shape) {
    e.error(call.at("value"), "the value has shape " + shapeText(value->type.shape) +
                                  ", the descriptor's block " + shapeText(shape));
    return std::nullopt;
  }
  return e.cast(*value, elementOf(descriptor), call.at("value"));
}

Value storeWindow(Emitter &e, const Value &descriptor, const Window &window,
                  const BoundCall &call) {
  auto value = needBlockValue(e, descriptor, window, call);
  if (!value)
    return Failed();
  llvm::SmallVector<CallArg, 4> args{{windowPointers(e, window), call.span, {}, {}},
                                     {*value, call.at("value"), {}, {}},
                                     {maskOfAll(e, window), call.span, {}, {}}};
  return e.callBuiltin(*findBuiltin("tl", "store"), args, call.span);
}

/// Sizes as signed numbers: those beyond 32 bits in 64, so that truncation masks nothing off.
std::optional<std::vector<Value>> sizesOf(Emitter &e, const Value &shape, SourceSpan span) {
  std::vector<Value> items = shape.isTuple() ? shape.elements() : std::vector<Value>{shape};
  std::vector<Value> sizes;
  for (const Value &item : items) {
    auto *runtime = item.dynAs<Runtime>();
    const bool isScalar = runtime && !runtime->type.isTile() && runtime->type.element.isInt();
    DType dtype = isScalar ? signedTypeOf(runtime->type.element) : DType(Scalar::I32);
    auto size = needScalars(e, item, dtype, span, "`shape`");
    if (!size)
      return std::nullopt;
    sizes.push_back(size->front());
  }
  return sizes;
}

/// Sizes as `shape` gives them, of 32 bits.
Value narrowed(Emitter &e, const Value &sizes) {
  std::vector<Value> elements;
  for (const Value &size : sizes.elements())
    elements.push_back(*e.cast(size.as<Runtime>(), Scalar::I32, e.here()));
  return sizes.withElements(std::move(elements));
}

/// Whether the arguments of `make_tensor_descriptor` fit together.
bool checkDescriptor(Emitter &e, const BoundCall &call, llvm::ArrayRef<size_t> ranks,
                     const Shape &block, DType element) {
  constexpr size_t maxRank = 5;
  size_t rank = block.size();
  if (ranks[0] < 1 || ranks[0] > maxRank)
    return e.error(call.at("shape"),
                   "a tensor descriptor has 1 to 5 dimensions, got " + std::to_string(ranks[0])),
           false;
  if (!llvm::all_of(ranks, [&](size_t other) { return other == rank; }))
    return e.error(call.span, "`shape`, `strides` and `block_shape` differ in length"), false;
  const Value &last =
      call["strides"].isTuple() ? call["strides"].elements().back() : call["strides"];
  if (e.knownInt(last) != BigInt(1))
    return e.error(call.at("strides"),
                   "the last stride of a tensor descriptor must be 1 at compile time, got " +
                       (e.knownInt(last) ? bigIntText(*e.knownInt(last)) : kindText(last))),
           false;
  int64_t rowBytes = block.back() * int64_t(element.bits()) / 8;
  if (rowBytes < minRowBytes)
    return e.error(call.at("block_shape"), "the last dimension of the block must have at least 16 "
                                           "bytes, got " +
                                               std::to_string(rowBytes)),
           false;
  return true;
}
} // namespace

Value pantile::emitMakeDescriptor(Emitter &e, const BoundCall &call) {
  auto *base = call["base"].dynAs<Runtime>();
  if (!base || !base->type.element.isPointer() || base->type.isTile())
    return call["base"].failed()
               ? call["base"]
               : e.error(call.at("base"), "`make_tensor_descriptor` needs a scalar pointer, got " +
                                              kindText(call["base"]));
  auto sizes = sizesOf(e, call["shape"], call.at("shape"));
  auto strides = needScalars(e, call["strides"], Scalar::I64, call.at("strides"), "`strides`");
  auto block = e.needShape(call["block_shape"], call.at("block_shape"), "`block_shape`");
  auto padding =
      e.needString(call["padding_option"], call.at("padding_option"), "`padding_option`");
  if (!sizes || !strides || !block || !padding)
    return Failed();
  DType element = base->type.element.pointee();
  if (element.isComplex())
    return e.error(call.at("base"), "a tensor descriptor has no elements of `complex64`; `tl.load` "
                                    "and `tl.store` take pointers to them");
  if (!checkDescriptor(e, call, {sizes->size(), strides->size()}, *block, element))
    return Failed();
  SourceSpan at = call.at("padding_option");
  if (*padding != "zero" && *padding != "nan")
    return e.error(at, "`padding_option` is \"zero\" or \"nan\", got \"" + *padding + "\"");
  if (*padding == "nan" && !element.isFloat())
    return e.error(at, "`padding_option` \"nan\" needs floats, got `" + element.name() + "`");
  std::vector<Value> parts(PartCount);
  parts[Base] = *base;
  parts[Sizes] = Value::tuple(std::move(*sizes));
  parts[Strides] = Value::tuple(std::move(*strides));
  parts[Block] = tupleOf(*block);
  parts[PadsWithNan] = *padding == "nan";
  return Value::structure({std::move(parts), {}, StructKind::Descriptor, nullptr});
}

Value Emitter::hostDescriptor(llvm::ArrayRef<Value> leaves, llvm::ArrayRef<int64_t> blockShape,
                              bool padsWithNan) {
  size_t rank = blockShape.size();
  std::vector<Value> sizes(leaves.begin() + 1, leaves.begin() + 1 + rank);
  std::vector<Value> strides(leaves.begin() + 1 + rank, leaves.end());
  strides.back() = constant(Scalar::I64, BigInt(1));
  std::vector<Value> parts(PartCount);
  parts[Base] = leaves[0];
  parts[Sizes] = Value::tuple(std::move(sizes));
  parts[Strides] = Value::tuple(std::move(strides));
  parts[Block] = tupleOf(blockShape);
  parts[PadsWithNan] = padsWithNan;
  return Value::structure({std::move(parts), {}, StructKind::Descriptor, nullptr});
}

Value pantile::emitDescriptorLoad(Emitter &e, const BoundCall &call) {
  const Value *descriptor = needDescriptor(e, call, "desc");
  auto window =
      descriptor ? windowAt(e, *descriptor, call["offsets"], call.at("offsets")) : std::nullopt;
  return window ? loadWindow(e, *descriptor, *window, call.span) : Value(Failed());
}

Value pantile::emitDescriptorStore(Emitter &e, const BoundCall &call) {
  const Value *descriptor = needDescriptor(e, call, "desc");
  auto window =
      descriptor ? windowAt(e, *descriptor, call["offsets"], call.at("offsets")) : std::nullopt;
  return window ? storeWindow(e, *descriptor, *window, call) : Value(Failed());
}

Value pantile::emitDescriptorGather(Emitter &e, const BoundCall &call) {
  const Value *descriptor = needDescriptor(e, call, "desc");
  auto window = descriptor ? windowOfRows(e, *descriptor, call["x_offsets"], call["y_offset"], call)
                           : std::nullopt;
  return window ? loadWindow(e, *descriptor, *window, call.span) : Value(Failed());
}

Value pantile::emitDescriptorScatter(Emitter &e, const BoundCall &call) {
  const Value *descriptor = needDescriptor(e, call, "desc");
  auto window = descriptor ? windowOfRows(e, *descriptor, call["x_offsets"], call["y_offset"], call)
                           : std::nullopt;
  return window ? storeWindow(e, *descriptor, *window, call) : Value(Failed());
}

Value pantile::emitDescriptorAtomic(Emitter &e, const BoundCall &call) {
  const Value *descriptor = needDescriptor(e, call, "desc");
  auto window =
      descriptor ? windowAt(e, *descriptor, call["offsets"], call.at("offsets")) : std::nullopt;
  auto value = window ? needBlockValue(e, *descriptor, *window, call) : std::nullopt;
  if (!value)
    return Failed();
  llvm::SmallVector<CallArg, 4> args{
      {windowPointers(e, *window), call.span, {}, {}},
      {*value, call.at("value"), {}, {}},
      {maskOfAll(e, *window), call.span, {}, {}},
      {std::string("relaxed"), call.span, {}, {}},
  };
  Value old = e.callBuiltin(*findBuiltin("tl", call.row->name), args, call.span);
  return old.failed() ? old : Value(None());
}

Value pantile::descriptorAttribute(Emitter &e, const Value &descriptor, StringRef name) {
  const auto &parts = descriptor.elements();
  if (name == "base")
    return parts[Base];
  if (name == "shape")
    return narrowed(e, parts[Sizes]);
  if (name == "strides")
    return parts[Strides];
  if (name == "block_shape")
    return parts[Block];
  if (name == "dtype")
    return elementOf(descriptor);
  if (name == "block_type" || name == "type")
    return TypeValue{{elementOf(descriptor), shapeOf(parts[Block])}};
  if (findBuiltin("desc", name))
    return MethodValue{std::make_shared<Value>(descriptor), name.str()};
  return Failed();
}
