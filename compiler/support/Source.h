//===- Source.h - source texts and positions in them ----------------------------------------===//
// Needs: the text of each function or file, with its position in the user's file.
// Gives: spans (three integers) for tokens and nodes, and their lines and columns in the
//        user's file, counted in characters from 1.
// How:   A buffer keeps the start of each line. `firstLine` and `indent` are the lines and columns
//        that were cut off; both are added again when a span becomes a SourceRange.
//===------------------------------------------------------------------------------------===//
#pragma once
#include "pantile/Error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pantile {

/// Number of a buffer of a SourceManager; 0: no buffer.
using BufferId = uint32_t;

/// A position: a byte offset in a buffer.
struct SourceLoc {
  BufferId buffer = 0;
  uint32_t offset = 0;
  bool isValid() const { return buffer != 0; }
  bool operator==(const SourceLoc &) const = default;
};

/// The bytes [begin, end) of a buffer.
struct SourceSpan {
  BufferId buffer = 0;
  uint32_t begin = 0, end = 0;
  bool isValid() const { return buffer != 0; }
  SourceLoc start() const { return {buffer, begin}; }
  /// The shortest span that contains this one and `other`, of the same buffer.
  SourceSpan to(SourceSpan other) const {
    return {buffer, begin < other.begin ? begin : other.begin, end > other.end ? end : other.end};
  }
  bool operator==(const SourceSpan &) const = default;
};

class SourceManager {
public:
  SourceManager() = default;
  SourceManager(SourceManager &&) = default;
  SourceManager &operator=(SourceManager &&) = default;

  /// Adds a text whose first line is line `firstLine` of `file`; `indent` columns were cut off each
  /// line.
  BufferId addBuffer(std::string file, std::string text, int firstLine = 1, int indent = 0);

  /// Both stay valid as long as the manager.
  std::string_view text(BufferId buffer) const { return get(buffer).text; }
  const std::string &file(BufferId buffer) const { return get(buffer).file; }
  std::string_view text(SourceSpan span) const {
    return text(span.buffer).substr(span.begin, span.end - span.begin);
  }

  /// Lines and columns as in the user's file. An invalid span gives a range without a file.
  SourceRange range(SourceSpan span) const;

  /// Line `line` of the user's file `file`, with the removed indentation as spaces and without its
  /// line end.
  std::optional<std::string> lineText(std::string_view file, int line) const;

private:
  struct Buffer {
    std::string file, text;
    int firstLine, indent;
    std::vector<uint32_t> lineStarts;
  };
  const Buffer &get(BufferId buffer) const;
  static void position(const Buffer &buffer, uint32_t offset, int &line, int &column);

  std::vector<std::unique_ptr<Buffer>> buffers;
};

} // namespace pantile
