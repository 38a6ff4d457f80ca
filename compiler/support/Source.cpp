//===- Source.cpp - source texts and positions in them -----------------------------------===//
#include "support/Source.h"
#include "support/Utf8.h"
#include <algorithm>
#include <cassert>

namespace pantile {

namespace {
/// Lines end as in Python: "\n", "\r\n" or "\r".
std::vector<uint32_t> findLineStarts(std::string_view text) {
  std::vector<uint32_t> starts{0};
  for (size_t i = 0; i < text.size(); ++i) {
    const bool pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (text[i] == '\n' || (text[i] == '\r' && !pair))
      starts.push_back(static_cast<uint32_t>(i + 1));
  }
  return starts;
}

int countChars(std::string_view text) {
  int count = 0;
  while (!text.empty()) {
    text.remove_prefix(decodeUtf8(text).length);
    ++count;
  }
  return count;
}
} // namespace

BufferId SourceManager::addBuffer(std::string file, std::string text, int firstLine, int indent) {
  std::vector<uint32_t> starts = findLineStarts(text);
  buffers.push_back(std::make_unique<Buffer>(
      Buffer{std::move(file), std::move(text), firstLine, indent, std::move(starts)}));
  return static_cast<BufferId>(buffers.size());
}

const SourceManager::Buffer &SourceManager::get(BufferId buffer) const {
  assert(buffer != 0 && buffer <= buffers.size() && "no such buffer");
  return *buffers[buffer - 1];
}

void SourceManager::position(const Buffer &buffer, uint32_t offset, int &line, int &column) {
  offset = std::min<uint32_t>(offset, buffer.text.size());
  const auto next = std::ranges::upper_bound(buffer.lineStarts, offset);
  const uint32_t start = *std::prev(next);
  line = buffer.firstLine + static_cast<int>(next - buffer.lineStarts.begin()) - 1;
  column =
      buffer.indent + 1 + countChars(std::string_view(buffer.text).substr(start, offset - start));
}

SourceRange SourceManager::range(SourceSpan span) const {
  SourceRange range;
  if (!span.isValid())
    return range;
  const Buffer &buffer = get(span.buffer);
  range.file = buffer.file;
  position(buffer, span.begin, range.line, range.column);
  position(buffer, span.end, range.endLine, range.endColumn);
  return range;
}

std::optional<std::string> SourceManager::lineText(std::string_view file, int line) const {
  for (const auto &buffer : buffers) {
    const int index = line - buffer->firstLine;
    if (buffer->file != file || index < 0 || index >= static_cast<int>(buffer->lineStarts.size()))
      continue;
    const uint32_t start = buffer->lineStarts[index];
    const bool last = index + 1 == static_cast<int>(buffer->lineStarts.size());
    const uint32_t end = last ? buffer->text.size() : buffer->lineStarts[index + 1];
    std::string text = buffer->text.substr(start, end - start);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
      text.pop_back();
    return std::string(buffer->indent, ' ') + text;
  }
  return std::nullopt;
}

} // namespace pantile
