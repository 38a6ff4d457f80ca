//===- DebugLocations.cpp - MLIR locations as LLVM debug locations --------------------------===//
#include "lower/DebugLocations.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pantile::lower;

DebugLocations::DebugLocations(llvm::Module &module) : module(module), builder(module) {}

llvm::DIFile *DebugLocations::file(StringRef path) {
  return builder.createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
}

llvm::DISubprogram *DebugLocations::subprogram(StringRef name, llvm::DIFile *file, unsigned line) {
  auto *type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
  return builder.createFunction(file, name, name, file, line, type, line, llvm::DINode::FlagZero,
                                llvm::DISubprogram::SPFlagDefinition |
                                    llvm::DISubprogram::SPFlagOptimized);
}

llvm::DebugLoc DebugLocations::startFunction(llvm::Function *function, Location loc) {
  known.clear();
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place) {
    current = nullptr;
    return {};
  }
  llvm::DIFile *source = file(place.getFilename());
  if (!unit) {
    unit = builder.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), source,
                                     "pantile", true, "", 0, "",
                                     llvm::DICompileUnit::DebugDirectivesOnly);
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  }
  current = subprogram(function->getName(), source, place.getLine());
  function->setSubprogram(current);
  return of(loc);
}

llvm::DILocation *DebugLocations::make(Location loc, llvm::DILocation *inlinedAt) {
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    llvm::DILocation *caller = make(call.getCaller(), inlinedAt);
    llvm::DILocation *callee = make(call.getCallee(), caller);
    return callee ? callee : caller;
  }
  if (auto name = dyn_cast<NameLoc>(loc))
    return make(name.getChildLoc(), inlinedAt);
  if (auto fused = dyn_cast<FusedLoc>(loc))
    return fused.getLocations().empty() ? nullptr : make(fused.getLocations().front(), inlinedAt);
  auto place = dyn_cast<FileLineColRange>(loc);
  if (!place)
    return nullptr;
  llvm::DISubprogram *scope = current;
  if (inlinedAt) {
    llvm::DISubprogram *&slot = inlined[place.getFilename()];
    if (!slot)
      slot = subprogram(llvm::sys::path::stem(place.getFilename()), file(place.getFilename()), 1);
    scope = slot;
  }
  return llvm::DILocation::get(module.getContext(), place.getStartLine(), place.getStartColumn(),
                               scope, inlinedAt);
}

llvm::DebugLoc DebugLocations::of(Location loc) {
  if (!current)
    return {};
  auto [it, isNew] = known.try_emplace(loc, nullptr);
  if (isNew) {
    llvm::DILocation *made = make(loc, nullptr);
    // Calls of an inlinable function need a location, even if the operation has none.
    it->second =
        made ? made : llvm::DILocation::get(module.getContext(), current->getLine(), 0, current);
  }
  return it->second;
}

void DebugLocations::finish() {
  if (unit)
    builder.finalize();
}
