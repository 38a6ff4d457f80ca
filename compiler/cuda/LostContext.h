//===- LostContext.h - what a failed launch or wait says ----------------------------------===//
// Needs: each launch to be noted.
// Gives: the Error for a result of the driver. Of one that a kernel caused and that ends the
//        context, it names the kernels launched last: the driver tells of it only at a later call.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "cuda/Driver.h"

namespace pantile {

/// `name` as one object that lives for ever, equal names as the same one.
const std::string *keptName(const std::string &name);

/// A kernel of this name, kept by keptName, is about to be launched.
void noteLaunch(const std::string *name);

Error failureOf(const Driver &driver, CUresult result, std::string_view doing);

} // namespace pantile
