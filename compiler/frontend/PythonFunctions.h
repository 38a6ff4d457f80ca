//===- PythonFunctions.h - Python's functions on numbers --------------------------------===//
// Needs: numbers that are known before the kernel runs.
// Gives: functions of Python, of its module math and of triton as they are defined there, for
//        constants of kernels (EmitPython.cpp) and of modules (ModuleConstants.cpp).
//===------------------------------------------------------------------------------------===//
#pragma once
#include "frontend/PythonArithmetic.h"
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

namespace pantile {

/// `int`, `float`, `bool`, `abs`, `min`, `max`, `math.ceil`, `math.floor`, `math.exp`, `math.sqrt`,
/// `math.log`, `math.log2`, `math.pow`, `triton.cdiv` or `triton.next_power_of_2` of numbers. An error
/// where Python raises one; neither value nor error of other names or numbers of arguments.
FoldedNumber foldCall(llvm::StringRef function, llvm::ArrayRef<Number> arguments);

} // namespace pantile
