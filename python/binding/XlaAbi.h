//===- XlaAbi.h - the C ABI of XLA's foreign functions ------------------------------------===//
// Gives: the arguments that XLA's typed FFI passes to a custom call, in the layout of its C ABI,
//        version 0.1 and later: a call frame with buffers, attributes and a table of functions.
// How:   Only what a call reads. Every structure starts with its size in the runtime, and later
//        versions append fields. Nothing of JAX is needed to build or to load this.
//===------------------------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <cstdint>

namespace pantile::python::xla {

/// The start of each structure; `extensions` is a list of `Extension`.
struct Extension;
struct Header {
  size_t bytes;
  Extension *extensions;
};

struct Extension {
  enum Kind : int { Metadata = 1 };
  size_t bytes;
  int kind;
  Extension *next;
};

struct Version {
  Header header;
  int major, minor;
};

/// What the runtime requests from a function when it is registered.
struct Metadata {
  size_t bytes;
  Version version;
  uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

/// Element types, numbered as in XLA's PrimitiveType.
enum DataType : int {
  Pred = 1,
  S8 = 2,
  S16 = 3,
  S32 = 4,
  S64 = 5,
  U8 = 6,
  U16 = 7,
  U32 = 8,
  U64 = 9,
  F16 = 10,
  F32 = 11,
  F64 = 12,
  C64 = 15,
  Bf16 = 16,
  F8E5M2 = 19,
  F8E4M3FN = 20,
  F8E5M2FNUZ = 24,
  F8E4M3FNUZ = 25
};

struct Buffer {
  Header header;
  int type; ///< a DataType
  void *data;
  int64_t rank;
  int64_t *extents;
};

struct Text {
  const char *data;
  size_t size;
};
struct Array {
  int type; ///< a DataType
  size_t size;
  void *data;
};

/// The arguments, and likewise the results: `values[i]` is a Buffer if `kinds[i]` says so.
struct Values {
  enum Kind : int { IsBuffer = 1 };
  Header header;
  int64_t size;
  int *kinds;
  void **values;
};

/// Sorted by name.
struct Attributes {
  enum Kind : int { IsArray = 1, IsText = 4 };
  Header header;
  int64_t size;
  int *kinds;
  Text **names;
  void **values;
};

struct Error;
struct Context;

struct ErrorRequest {
  enum Code : int { InvalidArgument = 3, Internal = 13 };
  Header header;
  const char *message;
  int code;
};
struct StreamRequest {
  Header header;
  Context *context;
  void *stream; ///< written by the runtime
};

/// Functions of the runtime; those after `getStream` are left out.
struct Api {
  Header header;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorRequest *);
  void (*messageOf)(void *);
  void (*destroyError)(void *);
  Error *(*registerHandler)(void *);
  Error *(*getStream)(StreamRequest *);
};

struct CallFrame {
  enum Stage : int { Execute = 3 };
  Header header;
  const Api *api;
  Context *context;
  int stage;
  Values arguments, results;
  Attributes attributes;
};

using Handler = Error *(CallFrame *);

// The layout on a machine of 64 bits, as it is documented.
static_assert(sizeof(Header) == 16 && sizeof(Extension) == 24 && sizeof(Version) == 24);
static_assert(offsetof(Metadata, traits) == 32 && offsetof(MetadataExtension, metadata) == 24);
static_assert(offsetof(Buffer, data) == 24 && sizeof(Buffer) == 48);
static_assert(offsetof(Array, data) == 16 && sizeof(Values) == 40 && sizeof(Attributes) == 48);
static_assert(offsetof(ErrorRequest, code) == 24 && offsetof(StreamRequest, stream) == 24);
static_assert(offsetof(Api, createError) == 48 && offsetof(Api, getStream) == 80);
static_assert(offsetof(CallFrame, arguments) == 40 && offsetof(CallFrame, attributes) == 120);

} // namespace pantile::python::xla
