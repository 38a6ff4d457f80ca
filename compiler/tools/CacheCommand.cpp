//===- CacheCommand.cpp - `pantilec cache`: the kernel cache --------------------------------===//
// Needs: PANTILE_CACHE_DIR, or the default directory.
// Gives: ls, stats, verify, clear, export, import.
// How:   A thin layer over pantile/Cache.h. The output has one entry per line, for grep and awk.
//===-----------------------------------------------------------------------------------===//
#include "Commands.h"
#include "pantile/Cache.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>

namespace pantile {
namespace {

struct CacheLine {
  std::string directory, kind, file;
  std::vector<std::string> keys;
  double olderThanDays = -1;
  bool remove = false;
};

/// Whether the command applies to `entry`: its kind, its age, the start of its key.
bool concerns(const CacheLine &line, const CacheEntry &entry) {
  if (!line.kind.empty() && nameOf(entry.kind) != line.kind)
    return false;
  if (line.olderThanDays >= 0 &&
      double(std::time(nullptr) - entry.used) < 86400 * line.olderThanDays)
    return false;
  return line.keys.empty() || std::any_of(line.keys.begin(), line.keys.end(), [&](auto &prefix) {
           return entry.key.starts_with(prefix);
         });
}

std::vector<CacheEntry> chosenEntries(const CacheLine &line, bool withPayload = false) {
  std::vector<CacheEntry> entries = cacheEntries(withPayload);
  std::erase_if(entries, [&](const CacheEntry &entry) { return !concerns(line, entry); });
  return entries;
}

std::string timeText(int64_t seconds) {
  std::time_t time = seconds;
  char text[32];
  std::tm parts;
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", localtime_r(&time, &parts));
  return text;
}

int list(const CacheLine &line) {
  for (const CacheEntry &entry : chosenEntries(line))
    std::printf("%.16s %-6s %9llu %s %s\n", entry.key.c_str(),
                std::string(nameOf(entry.kind)).c_str(),
                static_cast<unsigned long long>(entry.bytes), timeText(entry.used).c_str(),
                entry.damage.empty() ? entry.about.c_str() : ("! " + entry.damage).c_str());
  return Success;
}

int printStats() {
  CacheStats stats = cacheStats();
  std::printf("directory  %s%s\n", stats.directory.c_str(), stats.writable ? "" : " (read only)");
  for (const std::string &shared : stats.shared)
    std::printf("shared     %s (read only)\n", shared.c_str());
  unsigned long long entries = 0, bytes = 0;
  for (EntryKind kind : {EntryKind::Kernel, EntryKind::Tuning, EntryKind::Note}) {
    const auto n = static_cast<unsigned long long>(stats.entries[size_t(kind)]);
    const auto size = static_cast<unsigned long long>(stats.bytes[size_t(kind)]);
    std::printf("%-10s %llu entries, %llu bytes\n", std::string(nameOf(kind)).c_str(), n, size);
    entries += n, bytes += size;
  }
  std::printf("total      %llu entries, %llu of %llu bytes\n", entries, bytes,
              static_cast<unsigned long long>(stats.maxBytes));
  std::printf("damaged    %llu\nleftovers  %llu\n", static_cast<unsigned long long>(stats.damaged),
              static_cast<unsigned long long>(stats.leftovers));
  return Success;
}

int verify(const CacheLine &line) {
  std::vector<std::string> damaged;
  size_t whole = 0;
  for (const CacheEntry &entry : chosenEntries(line)) {
    if (entry.damage.empty()) {
      ++whole;
      continue;
    }
    damaged.push_back(entry.key);
    std::printf("%s %s\n", entry.key.c_str(), entry.damage.c_str());
  }
  std::printf("%zu whole, %zu damaged\n", whole, damaged.size());
  if (line.remove)
    std::printf("%zu removed\n", removeCacheEntries(damaged));
  return damaged.empty() ? Success : CompileFailure;
}

int clear(const CacheLine &line) {
  std::vector<std::string> keys;
  for (const CacheEntry &entry : chosenEntries(line))
    keys.push_back(entry.key);
  const size_t removed = removeCacheEntries(keys);
  removeCacheLeftovers();
  std::printf("%zu entries removed\n", removed);
  return removed == keys.size() ? Success : CompileFailure;
}

int exportTo(const CacheLine &line) {
  Result<size_t> count = exportCache(chosenEntries(line, /*withPayload=*/true), line.file);
  if (!count)
    return fail(count.error(), CompileFailure);
  std::printf("%zu entries written to %s\n", *count, line.file.c_str());
  return Success;
}

int importFrom(const CacheLine &line) {
  Result<ImportReport> report = importCache(line.file);
  if (!report)
    return fail(report.error(), CompileFailure);
  std::printf("%zu entries added, %zu were there, %zu refused\n", report->added, report->known,
              report->refused);
  return report->refused ? CompileFailure : Success;
}

void addFilters(CLI::App *command, CacheLine &line) {
  command->add_option("--kind", line.kind, "only entries of this kind")
      ->check(CLI::IsMember({"kernel", "tuning", "note"}));
  command->add_option("--older-than", line.olderThanDays, "only entries unused for so many days")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--key", line.keys, "only entries whose keys begin so")
      ->allow_extra_args(false);
}

} // namespace

int runCacheCommand(int argc, char **argv) {
  CLI::App app("pantilec cache: the cache of compiled kernels and measured times",
               "pantilec cache");
  CacheLine line;
  app.require_subcommand(1);
  app.fallthrough(); // `--dir` may follow the command
  app.add_option("--dir", line.directory,
                 "its folder; default: PANTILE_CACHE_DIR or ~/.cache/pantile");
  auto *ls = app.add_subcommand("ls", "one line per entry: key, kind, bytes, last use, content");
  auto *stats = app.add_subcommand("stats", "where the cache is and what it holds");
  auto *check = app.add_subcommand("verify", "read every entry; exit status 1 if one is damaged");
  auto *empty = app.add_subcommand("clear", "remove entries");
  auto *save = app.add_subcommand("export", "write entries to one file");
  auto *load = app.add_subcommand("import", "add the entries of such a file");
  for (CLI::App *command : {ls, check, empty, save})
    addFilters(command, line);
  check->add_flag("--remove", line.remove, "remove the damaged ones");
  for (CLI::App *command : {save, load})
    command->add_option("file", line.file, "the file of entries")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? Success : UsageFailure;
  }
  if (!line.directory.empty())
    setenv("PANTILE_CACHE_DIR", line.directory.c_str(), /*overwrite=*/1);
  if (*ls)
    return list(line);
  if (*stats)
    return printStats();
  if (*check)
    return verify(line);
  if (*empty)
    return clear(line);
  return *save ? exportTo(line) : importFrom(line);
}

} // namespace pantile
