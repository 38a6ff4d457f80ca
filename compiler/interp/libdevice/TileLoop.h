//===- TileLoop.h - a function of scalars as a handler of tiles -------------------------------===//
// Needs: a compile-time pointer to a function of up to four numbers.
// Gives: `hostFunction<f>()`: its handler and element types.
// How:   Unsigned and signed integers have the same element types; the function's parameter types
//        determine how they are read.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "interp/libdevice/HostFunctions.h"

namespace pantile::interp {
namespace {

template <typename T> constexpr Elem elemFor() {
  if constexpr (std::is_same_v<T, float>)
    return Elem::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Elem::F64;
  else
    return sizeof(T) == 4 ? Elem::I32 : Elem::I64;
}

template <auto f, typename R, typename... Args> struct TileLoop {
  static void run(Frame &frame, const Instr &instr) {
    R *dst = frame.at<R>(instr.dst);
    const uint32_t registers[] = {instr.a, instr.b, instr.c,
                                  instr.c + instr.count * static_cast<uint32_t>(sizeof(R))};
    apply(dst, instr.count, frame, registers, std::index_sequence_for<Args...>());
  }
  template <size_t... index>
  static void apply(R *dst, uint32_t count, Frame &frame, const uint32_t *registers,
                    std::index_sequence<index...>) {
    for (uint32_t i = 0; i < count; ++i)
      dst[i] = f(frame.at<const Args>(registers[index])[i]...);
  }
};

template <auto f, typename R, typename... Args> HostFunction describe(R (*)(Args...)) {
  return {TileLoop<f, R, Args...>::run, elemFor<R>(), {elemFor<Args>()...}};
}
template <auto f> HostFunction hostFunction() { return describe<f>(f); }

} // namespace
} // namespace pantile::interp
