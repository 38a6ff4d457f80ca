//===- Order.h - order and scope of memory accesses --------------------------------------===//
// Needs: nothing.
// Gives: Scope, Order.
// How:   PTX ISA, "Memory Consistency Model".
//===------------------------------------------------------------------------------------------===//
#pragma once
#include <cstdint>

namespace pantile::ptx {

struct Opcode;

enum class Scope : uint8_t { Cta, Cluster, Gpu, Sys };

/// The order and scope of an instruction: `ld.acquire.gpu`.
struct Order {
  Order() = default;
  explicit Order(const Opcode &op);
  bool isStrong = false, acquires = false, releases = false, isReadOnly = false;
  Scope scope = Scope::Gpu;
};

} // namespace pantile::ptx
